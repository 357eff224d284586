import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import type { ModelPlace } from "./messages";

/** The model that was used last, open: a worker has memory for one. */
export class OpenPipeline {
  private opened: { key: string; pipeline: StableVideoDiffusionPipeline } | undefined;

  /**
   * Opens a model unless it is open.
   *
   * @throws VdError
   */
  async of(
    place: ModelPlace,
    options: Parameters<typeof StableVideoDiffusionPipeline.fromPretrained>[1] = {},
  ): Promise<StableVideoDiffusionPipeline> {
    const key = JSON.stringify(place);
    if (this.opened?.key === key) return this.opened.pipeline;
    this.opened?.pipeline.dispose();
    this.opened = undefined;
    const { source, device, threads } = place;
    const load = { ...options, device, ...(threads !== undefined && { threads }) };
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(source, load);
    this.opened = { key, pipeline };
    return pipeline;
  }
}
