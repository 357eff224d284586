import { VdError } from "@vd/kernels-native";
import { FLOAT8_E4M3_VALUES, FLOAT8_E5M2_VALUES } from "../float8";
import { fromBfloat16Array, fromFloat16Array } from "../half";
import type { SafetensorsDtype } from "./safetensors-dtype";

type NumberArray =
  | Float64Array
  | Float32Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array;

/** float64 holds every integer up to this one. */
const exactLimit = 2n ** 53n;

function lookUp(codes: Uint8Array, values: Readonly<Float32Array>): Float32Array {
  const result = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; i++) result[i] = values[codes[i]!]!;
  return result;
}

/** The stored elements with their exact values; 64-bit integers stay big. `bytes` starts its own buffer. */
function elements(bytes: Uint8Array, dtype: SafetensorsDtype): NumberArray | BigInt64Array | BigUint64Array {
  const { buffer } = bytes;
  switch (dtype) {
    case "F64":
      return new Float64Array(buffer);
    case "F32":
      return new Float32Array(buffer);
    case "F16":
      return fromFloat16Array(new Uint16Array(buffer));
    case "BF16":
      return fromBfloat16Array(new Uint16Array(buffer));
    case "F8_E4M3":
      return lookUp(bytes, FLOAT8_E4M3_VALUES);
    case "F8_E5M2":
      return lookUp(bytes, FLOAT8_E5M2_VALUES);
    case "I64":
      return new BigInt64Array(buffer);
    case "U64":
      return new BigUint64Array(buffer);
    case "I32":
      return new Int32Array(buffer);
    case "U32":
      return new Uint32Array(buffer);
    case "I16":
      return new Int16Array(buffer);
    case "U16":
      return new Uint16Array(buffer);
    case "I8":
      return new Int8Array(buffer);
    case "U8":
      return bytes;
    case "BOOL":
      return bytes.map((value) => (value === 0 ? 0 : 1));
  }
}

/** Elements of type `dtype`, stored little-endian from the start of the buffer of `bytes`, rounded to float32. */
export function toFloat32(bytes: Uint8Array, dtype: SafetensorsDtype): Float32Array {
  const values = elements(bytes, dtype);
  if (values instanceof Float32Array) return values;
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    return Float32Array.from(values as ArrayLike<bigint>, Number);
  }
  return new Float32Array(values);
}

/**
 * Elements of type `dtype`, stored little-endian from the start of the buffer of `bytes`, as float64.
 *
 * @throws VdError `dtype` with `where` for a 64-bit integer beyond ±2^53, which float64 cannot hold
 */
export function toFloat64(bytes: Uint8Array, dtype: SafetensorsDtype, where: string): Float64Array {
  const values = elements(bytes, dtype);
  if (values instanceof Float64Array) return values;
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    return Float64Array.from(values as ArrayLike<bigint>, (value) => {
      if (value > exactLimit || value < -exactLimit) {
        throw new VdError({ code: "dtype", where, expected: "integers within ±2^53", got: String(value) });
      }
      return Number(value);
    });
  }
  return new Float64Array(values);
}
