import type { OpenFile } from "@vd/hub";
import type { SchedulerConfig } from "@vd/sampling";
import type { Weights } from "@vd/tensor";
import type { VaeConfig } from "@vd/vae-opt";
import type { ClipPixelOptions } from "../conditioning/clip-pixel-values";
import type { ClipVisionConfig, UnetConfig } from "../models/index";

/** A LoRA that is merged into weights. */
export interface MergedLora {
  path: string;
  weight: number;
  /** Of its contents. */
  sha256: string;
}

/** A checkpoint's parts: configurations parsed, weights mapped, nothing computed. */
export interface ModelComponents {
  /** The folder or file, for messages. */
  source: string;
  unet: { config: UnetConfig; weights: Weights };
  vae: { config: VaeConfig; weights: Weights };
  imageEncoder: { config: ClipVisionConfig; weights: Weights };
  scheduler: SchedulerConfig;
  /** Whether it is distilled for few steps without guidance. */
  distilled?: boolean | undefined;
  clipPixels: ClipPixelOptions;
  /** The mapped files as they were when they were opened. */
  files: readonly OpenFile[];
  /** What is merged into the UNet's weights. */
  loras?: readonly MergedLora[] | undefined;
  /** Side of the pictures that the model was made for, if its configuration says so. */
  sampleSize?: number | undefined;
}
