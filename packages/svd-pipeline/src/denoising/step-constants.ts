import type { DenoisingPlan } from "./denoise";

/** Operands that stay the same over all steps. */
export interface StepConstants {
  /** Latents of the picture, [h,w,C]. */
  image: Float32Array;
  /** What one-token cross-attention makes of the picture's embedding, [B,1,1,·]. */
  cross: Float32Array;
  /** Frame position embeddings, [1,F,1,·]. */
  frames: Float32Array;
  /** fps − 1, motion bucket, noise augmentation. */
  timeIds: readonly [number, number, number];
  /** Guidance per frame, or undefined without guidance. */
  guidance: Float32Array | undefined;
}

/** Writes the operands that stay the same to a loaded plan of a denoising stage. */
export async function writeStepConstants(plan: DenoisingPlan, constants: StepConstants): Promise<void> {
  const { image, cross, frames, timeIds, guidance } = constants;
  const rows = guidance ? 2 : 1;
  const addedTimeIds = Float32Array.from({ length: 3 * rows }, (_, i) => timeIds[i % 3]!);
  const operands = { image, cross, frames, addedTimeIds, ...(guidance && { guidance }) };
  // At once: each waits for the device and for a thread, and none for another.
  await Promise.all(Object.entries(operands).map(([name, values]) => plan.write(name, values)));
}
