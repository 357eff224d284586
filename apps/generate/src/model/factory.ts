import type { RgbImage } from "@vd/media";
import type { LoadOptions, ProgressEvent, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import type { ModelSource } from "./source";

/** The part of the pipeline that the command uses. */
export type Pipeline = Pick<StableVideoDiffusionPipeline, "defaults" | "plan" | "generate" | "dispose">;

/** How a model is loaded. */
export interface ModelLoading extends LoadOptions {
  signal: AbortSignal;
  onProgress(event: ProgressEvent): void;
}

/** Makes pipelines; tests put their own in its place. */
export interface PipelineFactory {
  load(source: ModelSource, options: ModelLoading): Promise<Pipeline>;
  /** How much of a picture is left after the autoencoder of a model's folder encoded and decoded it, in dB. */
  reconstructionSnr(folder: string, picture: RgbImage, signal: AbortSignal): Promise<number>;
}

/** The real pipeline, loaded when it is needed: `--help` and mistakes in usage answer at once. */
export const pipelineFactory: PipelineFactory = {
  async load(source, options) {
    const { StableVideoDiffusionPipeline } = await import("@vd/svd-pipeline");
    return source.kind === "file"
      ? StableVideoDiffusionPipeline.fromSingleFile(source.name, options)
      : StableVideoDiffusionPipeline.fromPretrained(source.name, options);
  },
  async reconstructionSnr(folder, picture, signal) {
    const { reconstructionSnr, SvdAutoencoder } = await import("@vd/vae-opt");
    const vae = await SvdAutoencoder.fromPretrained(folder, { signal });
    return reconstructionSnr(vae, picture, { signal }).finally(() => vae.close());
  },
};
