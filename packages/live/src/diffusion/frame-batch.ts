import type { Device, DeviceBuffer } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import type { LiveParameters } from "../session/types";
import type { PictureMemory, StreamSize } from "./stream-memory";

/** The programs that make a stream's frames at one number of steps and in one element type. */
export interface FrameBatch {
  readonly steps: number;
  /** True if no frame is on its way: the next one begins all steps with its own picture. */
  isEmpty: boolean;
  /** True where a frame needs what the one before leaves behind, whatever pictures come in: they are computed one after the other then. */
  readonly follows: boolean;
  /** True where {@link take} writes what a frame that is computed may read. */
  readonly waits: boolean;
  /** Loads the programs of such frames, unless they are loaded. */
  prepare(drift: boolean): Promise<void>;
  /** True if {@link prepare} has loaded such frames. */
  isReady(drift: boolean): boolean;
  /** The next frame's program. slot: the place of its pictures. */
  take(drift: boolean, slot: number): Plan;
  /** What frames to come depend on besides pictures, in its order in a snapshot. */
  stateBuffers(): DeviceBuffer[];
  /** Forgets the frames that are on their way. */
  clear(): void;
  free(): Promise<void>;
}

/** Makes the batches of a stream of pictures by one model. */
export interface FrameBatches<Batch extends FrameBatch = FrameBatch> {
  readonly device: Device;
  /** Opens a batch for the pictures of some places. */
  open(size: StreamSize, slots: readonly PictureMemory[], steps: number): Promise<Batch>;
  /** Tells batches words and numbers; later ones are told them too. */
  tell(parameters: LiveParameters, batches: Iterable<Batch>): Promise<void>;
  /** Numbers of a batch's state at so many steps. */
  stateLength(steps: number): number;
  free(): Promise<void>;
}
