import type { Denoiser, DenoiserCall, DenoiserRequest } from "@vd/svd-pipeline";
import type { Numbers } from "../ort/session";

/** Runs the exported UNet: its inputs by name → `out_sample` [B,F,C,h,w]. */
export type UnetRun = (inputs: Readonly<Record<string, Numbers>>, signal?: AbortSignal) => Promise<Float32Array>;

/** What stays the same over the calls of a generation. */
export interface DenoiserConstants {
  readonly dims: readonly [rows: number, frames: number, channels: number, height: number, width: number];
  /** The picture's latents as planes, [C,h,w]. */
  readonly image: Float32Array;
  readonly context: Numbers;
  readonly timeIds: Numbers;
  readonly guidance: Float32Array | undefined;
}

/** [h,w,C] → [C,h,w]. */
function toPlanes(pixels: Float32Array, channels: number): Float32Array {
  const area = pixels.length / channels;
  return pixels.map((_, i) => pixels[(i % area) * channels + Math.floor(i / area)]!);
}

/** The operands of a generation as the exported UNet takes them. */
export function denoiserConstants({
  shape,
  models,
  embedding,
  image,
  timeIds,
  guidance,
}: DenoiserRequest): DenoiserConstants {
  const { rows, numFrames, factor } = shape;
  const channels = models.vae.config.latentChannels;
  const context = new Float32Array(rows * embedding.length); // The unconditional row stays zero.
  context.set(embedding, (rows - 1) * embedding.length);
  const ids = Float32Array.from({ length: rows * timeIds.length }, (_, i) => timeIds[i % timeIds.length]!);
  return {
    dims: [rows, numFrames, channels, shape.height / factor, shape.width / factor],
    image: toPlanes(image, channels),
    context: { data: context, dims: [rows, 1, embedding.length] },
    timeIds: { data: ids, dims: [rows, timeIds.length] },
    guidance,
  };
}

/** Noisy latents times the step's factor, the picture's latents behind them on every frame; zeros instead of the picture
 *  in the unconditional row. latents: [F,C,h,w] → [B,F,2C,h,w]. */
export function denoiserInput(
  latents: Float32Array,
  inputScale: number,
  { dims, image }: Pick<DenoiserConstants, "dims" | "image">,
): Numbers {
  const [rows, frames, channels, height, width] = dims;
  const perFrame = channels * height * width;
  const scale = Math.fround(inputScale);
  const data = new Float32Array(rows * frames * 2 * perFrame);
  for (let row = 0; row < rows; row++)
    for (let frame = 0; frame < frames; frame++) {
      const at = (row * frames + frame) * 2 * perFrame;
      for (let i = 0; i < perFrame; i++) data[at + i] = latents[frame * perFrame + i]! * scale;
      if (row === rows - 1) data.set(image, at + perFrame);
    }
  return { data, dims: [rows, frames, 2 * channels, height, width] };
}

/** unconditional + guidance[f] · (conditional − unconditional). both: [2,F,C,h,w] → [F,C,h,w].
 *  Source: https://arxiv.org/abs/2207.12598 eq. 6. */
export function guided(both: Float32Array, guidance: Float32Array): Float32Array {
  const half = both.length / 2;
  const perFrame = half / guidance.length;
  return Float32Array.from({ length: half }, (_, i) => {
    const unconditional = both[i]!;
    return unconditional + guidance[Math.floor(i / perFrame)]! * (both[half + i]! - unconditional);
  });
}

/** A denoiser whose UNet runs somewhere else; what surrounds the UNet is computed here. close: called at its end. */
export function unetDenoiser(request: DenoiserRequest, run: UnetRun, close: () => Promise<void>): Denoiser {
  const constants = denoiserConstants(request);
  const { context, timeIds, guidance } = constants;
  return {
    async predict({ latents, inputScale, timestep, signal }: DenoiserCall) {
      const inputs = {
        sample: denoiserInput(latents, inputScale, constants),
        timestep: { data: Float32Array.of(timestep), dims: [1] },
        encoder_hidden_states: context,
        added_time_ids: timeIds,
      };
      const y = await run(inputs, signal);
      return guidance ? guided(y, guidance) : y;
    },
    close,
  };
}
