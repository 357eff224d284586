import type { Device } from "@vd/kernels-native";
import { OBJECT, requireFields } from "@vd/kernels-native";
import type { LiveParameters } from "../session/types";
import { conditionsOf } from "./conditions";
import type { FrameBatches } from "./frame-batch";
import { PromptEncoder } from "./prompt-encoder";
import { StreamBatch } from "./stream-batch";
import type { PictureMemory, StreamSize } from "./stream-memory";
import type { DiffusionModel, GuidanceKind, StreamConditions, TemporalBlend } from "./types";

/** How batches of a model of the Stable Diffusion class are made. */
export interface DiffusionBatchesOptions {
  model: DiffusionModel;
  device: Device;
  width: number;
  height: number;
  seed: number | bigint;
  guidance: GuidanceKind;
  /** Whether programs measure the change between frames. */
  change: boolean;
  conditions: StreamConditions;
  /** How latents are blended with those of the frame before; undefined: not at all. */
  temporalBlend?: TemporalBlend | undefined;
}

type Sized = Pick<DiffusionBatchesOptions, "width" | "height" | "model" | "temporalBlend">;

/** Numbers of a stream's latents on their way at so many steps. */
function latentsLength({ width, height, model, temporalBlend }: Sized, steps: number): number {
  const { factor, latentChannels } = model.codec;
  const latents = (width / factor) * (height / factor) * latentChannels;
  return latents * (Math.max(steps - 1, 1) + steps + (temporalBlend ? 1 : 0));
}

/** Numbers of a stream's state behind those of its batch: a picture, the newest frame, a picture's part, and whether frames are on their way. */
export const picturesLength = ({ width, height }: { width: number; height: number }): number =>
  2 * 3 * width * height + 2;

/** Numbers of a stream's state at so many steps. */
export const contextLengthOf = (options: Sized, steps: number): number =>
  latentsLength(options, steps) + picturesLength(options);

/** Makes batches of steps by a denoiser and an autoencoder, and tells them texts. */
export class DiffusionBatches implements FrameBatches<StreamBatch> {
  private readonly encoder: PromptEncoder;
  private conditions: StreamConditions;

  constructor(private readonly options: DiffusionBatchesOptions) {
    requireFields("DiffusionBatches", options, { model: OBJECT, device: OBJECT, conditions: OBJECT });
    const { model, device, conditions } = options;
    this.conditions = conditions;
    this.encoder = new PromptEncoder(model, device, device.kind === "cpu" ? "f32" : "f16");
  }

  get device(): Device {
    return this.options.device;
  }

  private async texts({ prompt, negativePrompt }: StreamConditions) {
    return { prompt: await this.encoder.encode(prompt), negative: await this.encoder.encode(negativePrompt) };
  }

  async open(size: StreamSize, slots: readonly PictureMemory[], steps: number): Promise<StreamBatch> {
    const texts = await this.texts(this.conditions);
    const batch = await StreamBatch.open({ ...this.options, size }, slots, steps);
    await batch.tell(texts, this.conditions);
    return batch;
  }

  async tell(parameters: LiveParameters, batches: Iterable<StreamBatch>): Promise<void> {
    const conditions = { ...this.conditions, ...conditionsOf(parameters) };
    const texts = await this.texts(conditions);
    for (const batch of batches) {
      await batch.tell(texts, conditions);
      // Frames on their way have the noise of the strength that they began with.
      if (conditions.strength !== this.conditions.strength) batch.isEmpty = true;
    }
    this.conditions = conditions;
  }

  stateLength(steps: number): number {
    return latentsLength(this.options, steps);
  }

  free(): Promise<void> {
    return this.encoder.free();
  }
}
