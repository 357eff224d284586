import {
  COUNT,
  countOf,
  type Device,
  type DeviceBuffer,
  DIMS,
  type DType,
  FLOATS_32,
  OBJECT,
  requireArgument,
  requireFields,
} from "@vd/kernels-native";
import {
  elementBytes,
  makeStorage,
  type Pausable,
  packedTensor,
  pausable,
  requireDevice,
  type StorageKind,
  type Tensor,
} from "@vd/tensor";
import { paddedChannels } from "../models/unet-2d/padded-conv";

/** A tensor with a place of its own, which programs share and the host writes and reads without an allocation. */
export interface PlacedTensor {
  readonly tensor: Tensor;
  readonly buffer: DeviceBuffer;
}

/** Allocates a tensor in a block of its own. @throws VdError `memory` */
export async function placeTensor(
  device: Device,
  kind: StorageKind,
  name: string,
  dims: number[],
  dtype: DType = "f32",
) {
  const bytes = countOf(dims) * elementBytes(dtype);
  const buffer = await device.allocate(bytes);
  return { buffer, tensor: packedTensor(makeStorage(kind, bytes, name, { buffer, byteOffset: 0 }), dims, dtype) };
}

/** What the programs of a session share: the host writes the inputs, the programs keep the context. */
export interface FrameMemory {
  /** Unit noise in planes, [1,1,3,H,W]. */
  noise: PlacedTensor;
  /** A one-hot row, [1,1,1,actions]. */
  action: PlacedTensor;
  /** Video in, [1,1,H,W,3]. */
  video: PlacedTensor;
  /** Its part in the newest context frame, [1,1,1,1]. */
  blend: PlacedTensor;
  /** The context of the frame before, oldest first, [1,1,H,W,3·frames]: its oldest frame is about to be dropped for the newest one. */
  context: PlacedTensor;
  /** What the network sees: the noisy frame, the context, and zeros that nobody writes: [1,1,H,W,paddedChannels]. */
  sample: PlacedTensor;
  /** The newest frame, [1,1,H,W,3]. */
  newest: PlacedTensor;
  /** The finished frame as 8 bits, [1,1,H,W,3]. */
  picture: PlacedTensor;
  /** Unit noise for the context in planes, [1,1,3·frames,H,W]; for guards that add noise. */
  contextNoise: PlacedTensor;
  /** Of the guard: the noise's level, [1,1,1,1]. */
  renoise: PlacedTensor;
  /** How far frames are drawn towards the start's look: always, and while they are recovering, [1,1,1,2]. */
  holdAmounts: PlacedTensor;
  /** The start's look: deviation and mean of each channel, [1,1,1,3], and 1 / contrast and 1 / detail, [1,1,1,2]. */
  holdDeviation: PlacedTensor;
  holdMean: PlacedTensor;
  holdLiveliness: PlacedTensor;
  /** Whether frames are recovering: 0 for a lively picture to 1, [1,1,1,1]. */
  recovery: PlacedTensor;
  /** The network's deep features, and the newest context frame when they were computed, [1,1,H,W,3]. */
  features: PlacedTensor;
  featureFrame: PlacedTensor;
  free(): Promise<void>;
}

/** Sizes of a session's memory. */
export interface FrameSize {
  width: number;
  height: number;
  contextFrames: number;
  actions: number;
  /** Of the deep features, [1,1,H,W,C]. */
  features: readonly number[];
}

const SIZE = { width: COUNT, height: COUNT, contextFrames: COUNT, actions: COUNT, features: DIMS };

/** What a context is read from and written to. */
const MEMORY = { context: OBJECT, newest: OBJECT };

/**
 * Allocates what the programs of a session share.
 *
 * @throws VdError `memory`
 */
export async function allocateFrameMemory(device: Device, size: FrameSize): Promise<FrameMemory> {
  requireDevice("allocateFrameMemory", device);
  requireFields("allocateFrameMemory size", size, SIZE);
  const { width, height, contextFrames, actions, features } = size;
  const [frame, vector, pair, number] = [
    [1, 1, height, width, 3],
    [1, 1, 1, 3],
    [1, 1, 1, 2],
    [1, 1, 1, 1],
  ];
  const shapes = {
    noise: ["io", [1, 1, 3, height, width]],
    action: ["io", [1, 1, 1, actions]],
    video: ["io", frame],
    blend: ["io", number],
    context: ["state", [1, 1, height, width, 3 * contextFrames]],
    sample: ["state", [1, 1, height, width, paddedChannels(3 + 3 * contextFrames)]],
    newest: ["state", frame],
    picture: ["io", frame, "u8"],
    contextNoise: ["io", [1, 1, 3 * contextFrames, height, width]],
    renoise: ["io", number],
    holdAmounts: ["io", pair],
    holdDeviation: ["io", vector],
    holdMean: ["io", vector],
    holdLiveliness: ["io", pair],
    recovery: ["state", number],
    features: ["state", [...features]],
    featureFrame: ["state", frame],
  } satisfies Record<string, [StorageKind, number[], DType?]>;
  const blocks: Partial<Record<keyof typeof shapes, PlacedTensor>> = {};
  const free = async () => {
    for (const { buffer } of Object.values(blocks)) await buffer.free();
  };
  try {
    for (const [name, [kind, dims, dtype]] of Object.entries(shapes) as [
      keyof typeof shapes,
      [StorageKind, number[], DType?],
    ][])
      blocks[name] = await placeTensor(device, kind, name, dims, dtype);
  } catch (error) {
    await free();
    throw error;
  }
  return { ...(blocks as Record<keyof typeof shapes, PlacedTensor>), free };
}

/** Pixels of a context between two pauses. */
const PIECE = 1_024;

/** Writes the frames that the next one sees: the newest apart, the others behind the place of the one that it drops. context:
 *  [H,W,3 · frames], oldest first. Pauses after some pixels. */
export const writeContext = pausable(function* (memory: FrameMemory, context: Float32Array): Pausable<void> {
  requireFields("writeContext", memory, MEMORY);
  requireArgument("writeContext context", context, FLOATS_32);
  const { context: older, newest } = memory;
  const channels = older.tensor.dims[4]!;
  const [first, last] = [new Float32Array(context.length), new Float32Array((context.length / channels) * 3)];
  for (let at = 0; at < context.length; at += channels) {
    first.set(context.subarray(at, at + channels - 3), at + 3);
    last.set(context.subarray(at + channels - 3, at + channels), (at / channels) * 3);
    if (at % (PIECE * channels) === 0) yield;
  }
  older.buffer.writeSync(first);
  newest.buffer.writeSync(last);
});

/** The frames that the next one sees: [H,W,3 · frames], oldest first. Pauses after some pixels. */
export const readContext = pausable(function* (memory: FrameMemory): Pausable<Float32Array> {
  requireFields("readContext", memory, MEMORY);
  const { context: older, newest } = memory;
  const channels = older.tensor.dims[4]!;
  const first = older.buffer.readSync(new Float32Array(countOf(older.tensor.dims)));
  const last = newest.buffer.readSync(new Float32Array(countOf(newest.tensor.dims)));
  const context = new Float32Array(first.length);
  for (let at = 0; at < context.length; at += channels) {
    context.set(first.subarray(at + 3, at + channels), at);
    context.set(last.subarray((at / channels) * 3, (at / channels) * 3 + 3), at + channels - 3);
    if (at % (PIECE * channels) === 0) yield;
  }
  return context;
});
