import type { ProgressEvent, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import type { Settings } from "../settings";
import type { ModelSource } from "./source";

/** The part of the pipeline that the command uses. */
export type Pipeline = Pick<StableVideoDiffusionPipeline, "defaults" | "plan" | "generate" | "dispose">;

/** How a model is loaded. */
export interface LoadOptions extends Partial<Pick<Settings, "device" | "dtype" | "threads">> {
  signal: AbortSignal;
  onProgress(event: ProgressEvent): void;
}

/** Makes pipelines; tests put their own in its place. */
export interface PipelineFactory {
  /** Names for `--sampler`. */
  samplerNames(): Promise<readonly string[]>;
  load(source: ModelSource, options: LoadOptions): Promise<Pipeline>;
}

/** The real pipeline, loaded when it is needed: `--help` and mistakes in usage answer at once. */
export const pipelineFactory: PipelineFactory = {
  async samplerNames() {
    return (await import("@vd/svd-pipeline")).samplerNames;
  },
  async load(source, { device, dtype, threads, ...rest }) {
    const { StableVideoDiffusionPipeline } = await import("@vd/svd-pipeline");
    // Only what was said: an option that is present but undefined is not the same as one that is left out.
    const options = {
      ...(device !== undefined && { device }),
      ...(dtype !== undefined && { dtype }),
      ...(threads !== undefined && { threads }),
      ...rest,
    };
    return source.kind === "file"
      ? StableVideoDiffusionPipeline.fromSingleFile(source.name, options)
      : StableVideoDiffusionPipeline.fromPretrained(source.name, options);
  },
};
