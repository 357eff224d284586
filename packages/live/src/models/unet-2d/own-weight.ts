import { allocateBuffer, countOf } from "@vd/kernels-native";
import { decodeStored, elementBytes, makeStorage, packedTensor, type Tensor } from "@vd/tensor";

/** A weight's numbers in float32. */
export function floatsOf({ storage, byteOffset, dtype, dims }: Tensor): Float32Array {
  const { buffer, byteOffset: base } = storage.place!;
  return decodeStored(buffer.readSync(new Uint8Array(countOf(dims) * elementBytes(dtype)), base + byteOffset), dtype);
}

/** A weight in memory of its own, of the type of its data. */
export function ownWeight(name: string, data: Float32Array | Int8Array, dims: readonly number[]): Tensor {
  const buffer = allocateBuffer(data.byteLength);
  buffer.writeSync(data);
  return packedTensor(
    makeStorage("weights", data.byteLength, name, { buffer, byteOffset: 0 }),
    dims,
    data instanceof Int8Array ? "i8" : "f32",
  );
}
