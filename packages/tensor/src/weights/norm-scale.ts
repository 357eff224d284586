import { allocateBuffer, countOf, type DeviceBuffer } from "@vd/kernels-native";
import { FLOAT8_E4M3_MAX } from "../float8";
import { makeStorage, packedTensor } from "../graph";
import { decodeStored } from "../host";
import { elementBytes, type Storage, type Tensor } from "../tensor";

/** Deviations of a normalised number that float8 codes have room for. Few numbers of a picture are beyond 10; float8's smallest
 *  numbers of full precision then stand for 0.001 deviations. */
const MOST_DEVIATIONS = 24;

/** The numbers of a small weight. */
function valuesOf({ storage, dtype, byteOffset, dims }: Tensor): Float32Array {
  const place = storage.place!;
  const bytes = new Uint8Array(countOf(dims) * elementBytes(dtype));
  place.buffer.readSync(bytes, place.byteOffset + byteOffset);
  return decodeStored(bytes, dtype);
}

/** The storage of one scale, made when it is first needed. */
class NormScaleStorage implements Storage {
  readonly kind = "weights";
  readonly bytes = 4;
  readonly name: string;
  readonly id: number;
  private made: DeviceBuffer | undefined;

  constructor(
    private readonly weight: Tensor,
    private readonly bias: Tensor,
  ) {
    this.name = `${weight.storage.name} (scale of codes)`;
    this.id = makeStorage("weights", this.bytes, this.name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    this.made ??= this.make();
    return { buffer: this.made, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    await Promise.all([this.weight, this.bias].map(({ storage }) => storage.fill?.()));
  }

  private make(): DeviceBuffer {
    const [weight, bias] = [valuesOf(this.weight), valuesOf(this.bias)];
    let largest = 0;
    weight.forEach((factor, c) => {
      const reach = Math.abs(factor) * MOST_DEVIATIONS + Math.abs(bias[c]!);
      if (reach > largest) largest = reach;
    });
    const buffer = allocateBuffer(this.bytes);
    buffer.writeSync(Float32Array.of(Math.max(largest / FLOAT8_E4M3_MAX, 2 ** -126)));
    return buffer;
  }
}

/**
 * Returns the scale, [1,1,1,1], of float8 codes for what a norm with these weights leaves: as large as 24 deviations of any
 * channel. Float8 has the same precision over a range of 30,000, so that this needs no calibration. It is made when a plan that
 * uses it is loaded.
 *
 * weight, bias: [C], in a float type, e.g. from {@link Weights}.
 */
export function normScale(weight: Tensor, bias: Tensor): Tensor {
  return packedTensor(new NormScaleStorage(weight, bias), [1, 1, 1, 1], "f32");
}
