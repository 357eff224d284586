import { CpuGenerator, streamSafetensors } from "@vd/tensor";
import type { Part } from "./options";

/** Input tensors of a part, in the peer's layout and names. */
export type PartInputs = Readonly<Record<string, { shape: readonly number[]; data: Float32Array }>>;

/** Sizes that decide the inputs. */
export interface InputSizes {
  numFrames: number;
  /** Of latents. */
  latentHeight: number;
  latentWidth: number;
  latentChannels: number;
  contextWidth: number;
  clipSize: number;
  /** Of the picture. */
  width: number;
  height: number;
}

/** 0.25 ln σ for a noise level in the middle of a run. */
const TIMESTEP = 0.5;
/** fps − 1, motion bucket, noise augmentation. */
const TIME_IDS = [6, 127, 0.02];
const ROWS = 2;

/** Joins noisy latents with the picture's: [2,F,2C,h,w]; the first row, without guidance, has no picture. */
function unetSample(sizes: InputSizes, latents: Float32Array, image: Float32Array): Float32Array {
  const { numFrames, latentChannels: channels, latentHeight, latentWidth } = sizes;
  const plane = channels * latentHeight * latentWidth;
  const sample = new Float32Array(ROWS * numFrames * 2 * plane);
  for (let row = 0; row < ROWS; row++)
    for (let frame = 0; frame < numFrames; frame++) {
      const at = (row * numFrames + frame) * 2 * plane;
      sample.set(latents.subarray(frame * plane, (frame + 1) * plane), at);
      if (row > 0) sample.set(image, at + plane);
    }
  return sample;
}

/** Random inputs of one denoiser call on both guidance rows, the same for the same seed, and the context of the row
 *  with guidance, [D]. */
export function unetInputs(sizes: InputSizes, seed: number): { peer: PartInputs; context: Float32Array } {
  const random = new CpuGenerator(seed);
  const { numFrames, latentChannels: channels, latentHeight: h, latentWidth: w, contextWidth } = sizes;
  const latents = random.randn(numFrames * channels * h * w);
  const image = random.randn(channels * h * w);
  const context = random.randn(contextWidth);
  const both = new Float32Array(ROWS * contextWidth);
  both.set(context, contextWidth);
  const ids = Float32Array.from({ length: ROWS * TIME_IDS.length }, (_, i) => TIME_IDS[i % TIME_IDS.length]!);
  const peer: PartInputs = {
    sample: { shape: [ROWS, numFrames, 2 * channels, h, w], data: unetSample(sizes, latents, image) },
    timestep: { shape: [1], data: Float32Array.of(TIMESTEP) },
    context: { shape: [ROWS, 1, contextWidth], data: both },
    added_time_ids: { shape: [ROWS, TIME_IDS.length], data: ids },
  };
  return { peer, context };
}

/** Random inputs of a part with one input. Values of pictures lie in about [-1,1]. */
export function plainInputs(
  part: Exclude<Part, "unet" | "start" | "e2e">,
  sizes: InputSizes,
  seed: number,
): PartInputs {
  const random = new CpuGenerator(seed);
  const randn = (shape: readonly number[]) => ({ shape, data: random.randn(shape.reduce((a, b) => a * b, 1)) });
  const { numFrames, latentChannels, latentHeight, latentWidth, clipSize, width, height } = sizes;
  if (part === "clip") return { pixels: randn([1, 3, clipSize, clipSize]) };
  if (part === "vae") return { latents: randn([numFrames, latentChannels, latentHeight, latentWidth]) };
  const image = randn([1, 3, height, width]);
  return { image: { ...image, data: image.data.map((value) => Math.tanh(value)) } };
}

/**
 * Writes inputs for the peer.
 *
 * @throws VdError `io`
 */
export function writeInputs(path: string, inputs: PartInputs): Promise<void> {
  const tensors = Object.entries(inputs).map(([name, { shape, data }]) => ({
    name,
    dtype: "F32" as const,
    shape,
    data,
  }));
  return streamSafetensors(path, tensors);
}
