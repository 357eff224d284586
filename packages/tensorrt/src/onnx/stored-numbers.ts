import { toFloat16Array } from "@vd/tensor";
import type { ElementType } from "./schema";

/** Numbers that go into a model: whole ones of 32 bits are exact as such only. */
export interface InputNumbers {
  readonly data: Float32Array | Int32Array;
  readonly dims: readonly number[];
}

/** Numbers as an input of a model stores them: float32, unless the input is of float16 or whole numbers. */
export function storedNumbers(type: ElementType, data: Float32Array | Int32Array) {
  switch (type) {
    case "float16":
      return { type, values: toFloat16Array(Float32Array.from(data)) } as const;
    case "int32":
      return { type, values: Int32Array.from(data) } as const;
    case "int8":
      return { type, values: Int8Array.from(data) } as const;
    case "uint8":
      return { type, values: Uint8Array.from(data) } as const;
    default:
      return { type: "float32", values: data instanceof Float32Array ? data : Float32Array.from(data) } as const;
  }
}
