import { allocateBuffer, countOf, type DeviceBuffer } from "@vd/kernels-native";
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

/** The storage of one scale, made when it is first needed. */
class CodeScaleStorage implements Storage {
  readonly kind = "weights";
  readonly bytes = 4;
  readonly id: number;
  private made: DeviceBuffer | undefined;

  constructor(
    readonly name: string,
    private readonly sources: readonly Tensor[],
    private readonly findLargest: () => Pausable<number>,
  ) {
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    this.made ??= this.holding(runAtOnce(this.findLargest()));
    return { buffer: this.made, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.made) return;
    await Promise.all(this.sources.map(({ storage }) => storage.fill?.()));
    const largest = await runInSlices(this.findLargest());
    this.made ??= this.holding(largest);
  }

  private holding(largest: number): DeviceBuffer {
    const buffer = allocateBuffer(this.bytes);
    buffer.writeSync(Float32Array.of(Math.max(largest / FLOAT8_E4M3_MAX, 2 ** -126)));
    return buffer;
  }
}

/** Returns a scale of float8 codes, [1,1,1,1], that follows from weights: the largest code stands for what `findLargest` finds when a plan
 *  that uses the scale is loaded. sources: the weights that it reads. */
export function codeScale(name: string, sources: readonly Tensor[], findLargest: () => Pausable<number>): Tensor {
  return packedTensor(new CodeScaleStorage(`${name} (scale of codes)`, sources, findLargest), [1, 1, 1, 1], "f32");
}
