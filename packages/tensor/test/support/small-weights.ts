import { numbers } from "@vd/conformance";
import { allocateBuffer, type DType } from "@vd/kernels-native";
import type { Plain } from "@vd/kernels-native/references";
import { makeStorage } from "../../src/graph";
import { toBfloat16Array, toFloat16Array } from "../../src/half";
import { type WeightEntry, Weights } from "../../src/weights/weights";

/** A checkpoint in memory, and its numbers as the plain definitions take them. */
export interface SmallWeights {
  weights: Weights;
  plain: Readonly<Record<string, Plain>>;
}

/** Small random weights of the given shapes. gain: their size; default 1/sqrt of what they sum over. */
export function smallWeights(
  shapes: Readonly<Record<string, readonly number[]>>,
  { dtype = "f32", gain }: { dtype?: "f32" | "f16" | "bf16"; gain?: number } = {},
): SmallWeights {
  const entries = new Map<string, WeightEntry>();
  const plain: Record<string, Plain> = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const count = shape.reduce((product, size) => product * size, 1);
    const summed = shape.length > 1 ? count / shape[0]! : 1;
    const values = numbers(name, count).map((value) => value * (gain ?? 1 / Math.sqrt(summed)));
    const stored = encode(values, dtype);
    const buffer = allocateBuffer(stored.byteLength);
    buffer.writeSync(stored);
    const storage = makeStorage("weights", stored.byteLength, name, { buffer, byteOffset: 0 });
    entries.set(name, { dtype: dtype as DType, shape, storage, byteOffset: 0 });
    plain[name] = { dims: shape, data: Float64Array.from(values) };
  }
  return { weights: Weights.fromEntries("small", entries), plain };
}

function encode(values: Float32Array, dtype: "f32" | "f16" | "bf16"): Float32Array | Uint16Array {
  if (dtype === "f32") return values;
  return dtype === "f16" ? toFloat16Array(values) : toBfloat16Array(values);
}
