import type { Device, ProgramInfo } from "@vd/kernels-native";
import { type GraphLayout, observed, packedBytes, type WorkObserver } from "@vd/tensor";

const MEBIBYTE = 2 ** 20;
/** Through how much of the device's memory the weights of stages pass that run once or a few times: two of their largest fit in there. */
const ONCE_STREAM_BYTES = 32 * MEBIBYTE;
/** Weights of less bytes stay on the device: copies of them take longer to start than to make (`native/cuda/weight_segments.cc`). */
const LEAST_STREAMED_BYTES = 64 * 2 ** 10;
/** Most bytes that all weights together take of the device that are not streamed: the small ones, and those of stages with few. */
export const KEPT_ON_DEVICE_BYTES = 96 * MEBIBYTE;
/** Share of the machine's free memory that may be page-locked: the system can give it to nobody else. */
const HOST_SHARE = 0.5;

/** A stage of which weights may be streamed. */
export interface StreamedStage {
  layout: GraphLayout;
  /** Bytes of the device's memory through which they pass. */
  streamBytes: number;
}

/** Returns through how many bytes a stage's weights pass. own: what was chosen for the stage itself, 0 for nothing. */
export const streamBytesOf = (own: number | undefined): number => own || ONCE_STREAM_BYTES;

/** Weights of a layout by what tells them apart, in bytes as a GPU packs them. */
function weightsOf({ graph }: GraphLayout): Map<string, number> {
  const weights = new Map<string, number>();
  for (const { inputs } of graph.rows)
    for (const input of inputs)
      if (input?.storage.kind === "weights")
        weights.set(`${input.storage.id}:${input.byteOffset}`, packedBytes(input.dims, graph.dtype));
  return weights;
}

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);

/** Returns about how many bytes lie in page-locked memory once all stages were loaded, and how many stay on the device. */
export function placedBytes(stages: readonly StreamedStage[]): { pinned: number; onDevice: number } {
  const [pinned, onDevice] = [new Map<string, number>(), new Map<string, number>()];
  for (const { layout, streamBytes } of stages) {
    const weights = weightsOf(layout);
    const large = [...weights].filter(([, bytes]) => bytes >= LEAST_STREAMED_BYTES);
    const isStreamed = sumOf(large.map(([, bytes]) => bytes)) > streamBytes;
    for (const [key, bytes] of weights)
      (isStreamed && bytes >= LEAST_STREAMED_BYTES ? pinned : onDevice).set(key, bytes);
  }
  return { pinned: sumOf(pinned.values()), onDevice: sumOf(onDevice.values()) };
}

/**
 * Packed weights in page-locked memory of the machine, from which a GPU streams them, kept from one generation to the next. The device
 * itself holds them by their sources and forms, and lets go of those that no program uses when it is trimmed; this says when that is,
 * and counts what they take.
 */
export class PinnedWeights {
  /** Streamed bytes of programs by what decides the forms of their weights. */
  private readonly programs = new Map<string, number>();

  /** At most so many bytes are held: programs that share weights count them twice. */
  get bytes(): number {
    return sumOf(this.programs.values());
  }

  /** Whether the machine has room for `bytes`, those counted that are held already. freeBytes: what is left of its memory. */
  fits(bytes: number, freeBytes: number): boolean {
    const held = this.bytes;
    return Math.max(bytes, held) <= HOST_SHARE * (freeBytes + held);
  }

  /** Counts what a loaded program streams. */
  note(stage: string, { streamedBytes, variants }: Pick<ProgramInfo, "streamedBytes" | "variants">): void {
    if (streamedBytes > 0) this.programs.set(JSON.stringify([stage, variants]), streamedBytes);
  }

  /** Lets go of everything where the device holds weights of others: they would be in the way. observer: hears of that. */
  async makeRoom(device: Device, observer?: WorkObserver): Promise<void> {
    const { residentBytes } = await device.memory();
    if (residentBytes > KEPT_ON_DEVICE_BYTES) await observed(observer, "trim", () => this.release(device));
  }

  /** Lets go of all weights that no program uses. */
  async release(device: Device): Promise<void> {
    this.programs.clear();
    await device.trim();
  }
}
