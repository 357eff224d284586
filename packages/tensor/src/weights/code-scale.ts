import { allocateBuffer, allocateFloats, countOf, type DeviceBuffer } from "@vd/kernels-native";
import { FLOAT8_E4M3_MAX } from "../float8";
import { makeStorage, packedTensor } from "../graph";
import { decodeStored } from "../host";
import { type Pausable, runAtOnce, runInSlices } from "../pausable";
import { elementBytes, type Storage, type Tensor } from "../tensor";

/** Numbers of a weight from element `first` on, as float32; all of them unless told otherwise. */
export function valuesOf({ storage, dtype, byteOffset, dims }: Tensor, first = 0, count = countOf(dims)): Float32Array {
  const place = storage.place!;
  const bytes = new Uint8Array(count * elementBytes(dtype));
  place.buffer.readSync(bytes, place.byteOffset + byteOffset + first * elementBytes(dtype));
  return decodeStored(bytes, dtype);
}

/** How a scale is found. */
export interface ScaleSearch {
  /** The weights that it follows from. */
  sources: readonly Tensor[];
  /** Returns the number that the largest code stands for. */
  findLargest(): Pausable<number>;
  /** The same where all numbers of a large weight are looked at: they are read off the event loop. */
  findLargestBeside?(): Promise<number>;
}

/** Elements that are read at a time: a copy of them stays in a cache, and what is done with them takes no half millisecond. */
const BLOCK = 2 ** 18;

/** Calls `visit` with some rows of a weight [N,C] after the other, read off the event loop. rows: valid until `visit` returns. */
export async function visitRows(
  { storage, dtype, byteOffset, dims }: Tensor,
  visit: (rows: Float32Array, first: number) => void,
): Promise<void> {
  const [count, width] = dims as [number, number];
  const { buffer, byteOffset: start } = storage.place!;
  const atOnce = Math.min(count, Math.max(1, Math.floor(BLOCK / width)));
  const block = allocateFloats(atOnce * width);
  for (let first = 0; first < count; first += atOnce) {
    const pixels = Math.min(atOnce, count - first);
    const into = block.subarray(0, pixels * width);
    const from = start + byteOffset + first * width * elementBytes(dtype);
    await buffer.readCheckedFloats({ byteOffset: from, dtype, pixels, channels: width }, into);
    visit(into, first);
  }
}

/** The storage of one scale, made when it is first needed. */
class CodeScaleStorage implements Storage {
  readonly kind = "weights";
  readonly bytes = 4;
  readonly id: number;
  private made: DeviceBuffer | undefined;

  constructor(
    readonly name: string,
    private readonly search: ScaleSearch,
  ) {
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    this.made ??= this.holding(runAtOnce(this.search.findLargest()));
    return { buffer: this.made, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.made) return;
    const { search } = this;
    await Promise.all(search.sources.map(({ storage }) => storage.fill?.()));
    const largest = await (search.findLargestBeside?.() ?? runInSlices(search.findLargest()));
    this.made ??= this.holding(largest);
  }

  private holding(largest: number): DeviceBuffer {
    const buffer = allocateBuffer(this.bytes);
    buffer.writeSync(Float32Array.of(Math.max(largest / FLOAT8_E4M3_MAX, 2 ** -126)));
    return buffer;
  }
}

/** Returns a scale of float8 codes, [1,1,1,1], that follows from weights: the largest code stands for what is found when a plan that uses the
 *  scale is loaded. */
export function codeScale(name: string, search: ScaleSearch): Tensor {
  return packedTensor(new CodeScaleStorage(`${name} (scale of codes)`, search), [1, 1, 1, 1], "f32");
}
