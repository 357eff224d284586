import type { GeneratedVideo, GenerateOptions, StableVideoDiffusionPipeline } from "../../src/index";

/** Options as text; functions and arrays have none that tells them apart. */
function textOf(options: GenerateOptions): string {
  return JSON.stringify(options, (name, value: unknown) => {
    if (typeof value === "function" || ArrayBuffer.isView(value)) throw new Error(`${name} cannot be remembered`);
    return typeof value === "bigint" ? `${value}n` : value;
  });
}

/**
 * Returns a function that makes a video once for the same options, whoever asks: the one that tests compare theirs with.
 */
export function rememberedRuns(
  pipelineOf: () => StableVideoDiffusionPipeline,
): (options: GenerateOptions) => Promise<GeneratedVideo> {
  const known = new Map<string, Promise<GeneratedVideo>>();
  return (options) => {
    const text = textOf(options);
    const video = known.get(text) ?? pipelineOf().generate(options);
    known.set(text, video);
    return video;
  };
}
