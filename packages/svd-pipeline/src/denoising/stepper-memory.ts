import type { DType } from "@vd/kernels-native";

/** What a stepper holds between two calls of the model, so that another one can go on from there. */
export interface StepperMemory {
  /** By name, as they lie in memory. */
  tensors: Readonly<Record<string, { dtype: DType; dims: readonly number[]; bytes: Uint8Array }>>;
  /** The rest, as values that JSON has. */
  values: unknown;
}

/** What stands for a tensor, or for a number that JSON lacks, among plain values. */
interface TaggedValue {
  $tensor?: string;
  $number?: string;
}

/** Takes the arrays out of nested values. */
export function packValues(values: unknown): StepperMemory {
  const tensors: Record<string, StepperMemory["tensors"][string]> = {};
  const packed = (value: unknown): unknown => {
    if (value instanceof Float32Array) {
      const name = String(Object.keys(tensors).length);
      const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      tensors[name] = { dtype: "f32", dims: [value.length], bytes };
      return { $tensor: name } satisfies TaggedValue;
    }
    if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) } satisfies TaggedValue;
    if (Object.is(value, -0)) return { $number: "-0" } satisfies TaggedValue;
    if (Array.isArray(value)) return value.map(packed);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, packed(part)]));
  };
  return { values: packed(values), tensors };
}

/** Puts the arrays back: the other way round of {@link packValues}. */
export function unpackValues({ values, tensors }: StepperMemory): unknown {
  const unpacked = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(unpacked);
    if (typeof value !== "object" || value === null) return value;
    const { $tensor, $number } = value as TaggedValue;
    if ($number !== undefined) return Number($number);
    if ($tensor === undefined)
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unpacked(part)]));
    const { buffer, byteOffset, byteLength } = tensors[$tensor]!.bytes;
    return new Float32Array(buffer, byteOffset, byteLength / Float32Array.BYTES_PER_ELEMENT);
  };
  return unpacked(values);
}
