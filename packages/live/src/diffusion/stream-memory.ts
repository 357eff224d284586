import type { Device, DType } from "@vd/kernels-native";
import { type PlacedTensor, placeTensor } from "../model/frame-memory";
import type { DiffusionModel, GuidanceKind } from "./types";

/** Sizes of a stream. */
export interface StreamSize {
  width: number;
  height: number;
  /** Type of what the network is told; that of its activations. */
  dtype: DType;
}

/** Calls of the network in a batch besides one for each step. */
export const extraCalls = (guidance: GuidanceKind, steps: number): number =>
  guidance === "initialize" ? 1 : guidance === "full" ? steps : 0;

/** What all programs of a stream share. */
export interface PictureMemory {
  /** Video in, as bytes of levels or as numbers, and its part in what is encoded: [1,F,H,W,3] and [1,1,1,1]. */
  video: PlacedTensor;
  blend: PlacedTensor;
  /** The frame, [1,F,H,W,3] in [-1, 1], and as 8 bits. */
  newest: PlacedTensor;
  picture: PlacedTensor;
  /** The frame before, which lies in the place before: with one place it is what the frame then takes the place of. */
  previous: PlacedTensor;
}

/** What the programs of one number of steps share: a row for each step of the batch, the noisiest first. */
export interface BatchMemory {
  /** Unit noise of each step, [1,N,h,w,C], the same for all frames. */
  noise: PlacedTensor;
  /** Noisy latents of the frames on their way, those of the second step first: [1,N − 1,h,w,C]; one row that nobody reads for one step. */
  waiting: PlacedTensor;
  /** The finished latents of the frame before, [1,1,h,w,C], and how the next ones are blended with them: weight and threshold, [2]. */
  before: PlacedTensor;
  temporal: PlacedTensor;
  /** Residual noise for guidance, [1,N,h,w,C]. */
  residual: PlacedTensor;
  /** Of each step, [1,N,1,1]: parts of a noisy sample; factors of sample and prediction in the data. */
  signal: PlacedTensor;
  level: PlacedTensor;
  ofSample: PlacedTensor;
  ofPrediction: PlacedTensor;
  /** Factors of the residual noise and of the guided prediction in the next residual noise. */
  ofResidual: PlacedTensor;
  ofGuided: PlacedTensor;
  /** [1,1,1,1]: the guidance scale; the part of the residual noise. */
  scale: PlacedTensor;
  delta: PlacedTensor;
  /** What the network is told, a row for each of its calls: [1,R,1,·] and [1,R,L,·]. */
  time: PlacedTensor;
  text: PlacedTensor;
}

/** Blocks by name that are freed together. */
export type Blocks<T> = T & { free(): Promise<void> };

/** Allocates blocks, all or none. @throws VdError `memory` */
export async function allocateBlocks<T>(
  device: Device,
  shapes: Record<keyof T & string, readonly [kind: "io" | "state", dims: number[], dtype?: DType]>,
): Promise<Blocks<T>> {
  const made: [string, PlacedTensor][] = [];
  const free = async () => {
    for (const [, { buffer }] of made) await buffer.free();
  };
  try {
    for (const [name, [kind, dims, dtype]] of Object.entries(shapes) as [string, readonly ["io", number[], DType?]][])
      made.push([name, await placeTensor(device, kind, name, dims, dtype)]);
  } catch (error) {
    await free();
    throw error;
  }
  return { ...(Object.fromEntries(made) as T), free };
}

/** How the memory of pictures is allocated. */
export interface PicturesOptions {
  width: number;
  height: number;
  /** Pictures beside each other in one frame; default 1. */
  count?: number;
  /** Frames whose pictures come and go in places of their own, so that one can while another is computed. */
  slots: number;
  /** What the host writes: levels as they are, of which kernels read bytes with a sign, or numbers in [-1, 1]. */
  video: "i8" | "f32";
}

/** Allocates what all programs of a stream share, a place for each frame that may be on its way. @throws VdError `memory` */
export async function allocatePictures(
  device: Device,
  { width, height, count = 1, slots, video }: PicturesOptions,
): Promise<{ slots: PictureMemory[]; free(): Promise<void> }> {
  const frame = [1, count, height, width, 3];
  const made: Blocks<Omit<PictureMemory, "previous">>[] = [];
  const free = async () => {
    for (const each of made) await each.free();
  };
  try {
    for (let i = 0; i < slots; i++)
      made.push(
        await allocateBlocks<Omit<PictureMemory, "previous">>(device, {
          video: ["io", frame, video],
          blend: ["io", [1, 1, 1, 1]],
          newest: ["state", frame],
          picture: ["io", frame, "u8"],
        }),
      );
  } catch (error) {
    await free();
    throw error;
  }
  return { slots: made.map((slot, i) => ({ ...slot, previous: made.at(i - 1)!.newest })), free };
}

/** Allocates what the programs of a number of steps share. @throws VdError `memory` */
export function allocateBatch(
  device: Device,
  { codec, unet, text }: DiffusionModel,
  { width, height, dtype }: StreamSize,
  steps: number,
  guidance: GuidanceKind,
): Promise<Blocks<BatchMemory>> {
  const latents = (rows: number) => [1, rows, height / codec.factor, width / codec.factor, codec.latentChannels];
  const row = [1, steps, 1, 1];
  const one = [1, 1, 1, 1];
  const calls = steps + extraCalls(guidance, steps);
  return allocateBlocks<BatchMemory>(device, {
    noise: ["state", latents(steps)],
    waiting: ["state", latents(Math.max(steps - 1, 1))],
    before: ["state", latents(1)],
    temporal: ["io", [2]],
    residual: ["state", latents(steps)],
    signal: ["io", row],
    level: ["io", row],
    ofSample: ["io", row],
    ofPrediction: ["io", row],
    ofResidual: ["io", row],
    ofGuided: ["io", row],
    scale: ["io", one],
    delta: ["io", one],
    time: ["state", [1, calls, 1, unet.widths.time], dtype],
    text: ["state", [1, calls, text.config.maxTokens, unet.widths.text], dtype],
  });
}
