import {
  FLOATS_32,
  NUMBER,
  oneOfThese,
  requireArgument,
  requireFields,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import { roundToBfloat16, roundToBfloat16InPlace, roundToFloat16, roundToFloat16InPlace } from "@vd/tensor";

const LATENT_DTYPES = ["float32", "float16", "bfloat16"] as const;

/** The number type that latents have between steps. */
export type LatentDtype = (typeof LATENT_DTYPES)[number];

/** Latents of any shape, flat. Each value is one that `dtype` can hold; the storage is float32 for all of them. */
export interface Values {
  readonly data: Float32Array;
  readonly dtype: LatentDtype;
}

/** What a {@link LatentDtype} must be. */
export const DTYPE = oneOfThese(LATENT_DTYPES);

/** What {@link Values} must be. */
export const VALUES: WantedFields = { data: FLOATS_32, dtype: DTYPE };

/** Refuses what are no values. */
function requireBoth(where: string, a: unknown, b: unknown): void {
  requireFields(`${where} a`, a, VALUES);
  requireFields(`${where} b`, b, VALUES);
}

/** Refuses what are no values and a number. */
function requireScaled(where: string, a: unknown, by: unknown): void {
  requireFields(where, a, VALUES);
  requireArgument(where, by, NUMBER);
}

/*
 * The operations below round as torch does: a result of two tensors has the wider type of both, a number never widens
 * it, and every operation computes in float32 and rounds once. A sampler written with them gives torch's bits.
 */

/** Rounds values to a type; to float32 this is free. */
export function roundInPlace(data: Float32Array, dtype: LatentDtype): void {
  if (dtype === "float16") roundToFloat16InPlace(data);
  else if (dtype === "bfloat16") roundToBfloat16InPlace(data);
}

function rounded(data: Float32Array, dtype: LatentDtype): Values {
  roundInPlace(data, dtype);
  return { data, dtype };
}

function widest(a: LatentDtype, b: LatentDtype): LatentDtype {
  return a === b ? a : "float32";
}

/** a + b, element by element. @throws VdError `attr` for what are no values */
export function add(a: Values, b: Values): Values {
  requireBoth("add", a, b);
  const data = new Float32Array(a.data.length);
  for (let i = 0; i < data.length; i++) data[i] = a.data[i]! + b.data[i]!;
  return rounded(data, widest(a.dtype, b.dtype));
}

/** a − b, element by element. @throws VdError `attr` for what are no values */
export function sub(a: Values, b: Values): Values {
  requireBoth("sub", a, b);
  const data = new Float32Array(a.data.length);
  for (let i = 0; i < data.length; i++) data[i] = a.data[i]! - b.data[i]!;
  return rounded(data, widest(a.dtype, b.dtype));
}

/**
 * a · factor, or factor · a. A factor on the right is rounded to float32; one on the left to the type of `a`, which is
 * what torch does on the CPU with a factor that it holds as a tensor (it keeps its scalar tables as tensors).
 *
 * @throws VdError `attr` for what are no values and a number
 */
export function mul(a: Values, factor: number): Values;
export function mul(factor: number, a: Values): Values;
export function mul(left: Values | number, right: Values | number): Values {
  const [a, factor, onLeft] = typeof left === "number" ? [right as Values, left, true] : [left, right as number, false];
  requireScaled("mul", a, factor);
  const scale = onLeft ? roundNumber(factor, a.dtype) : Math.fround(factor);
  const data = new Float32Array(a.data.length);
  for (let i = 0; i < data.length; i++) data[i] = a.data[i]! * scale;
  return rounded(data, a.dtype);
}

/** A number rounded to a type. @throws VdError `attr` for what is no number or no type */
export function roundNumber(value: number, dtype: LatentDtype): number {
  requireArgument("roundNumber", value, NUMBER);
  requireArgument("roundNumber dtype", dtype, DTYPE);
  if (dtype === "float32") return Math.fround(value);
  return dtype === "float16" ? roundToFloat16(value) : roundToBfloat16(value);
}

/** a / divisor; the divisor is rounded to float32 first. @throws VdError `attr` for what are no values and a number */
export function div(a: Values, divisor: number): Values {
  requireScaled("div", a, divisor);
  const scale = Math.fround(divisor);
  const data = new Float32Array(a.data.length);
  for (let i = 0; i < data.length; i++) data[i] = a.data[i]! / scale;
  return rounded(data, a.dtype);
}

/** The values limited to ±range; NaN stays. */
export function clamp(a: Values, range: number): Values {
  const limit = Math.fround(range);
  const data = new Float32Array(a.data.length);
  for (let i = 0; i < data.length; i++) data[i] = Math.min(Math.max(a.data[i]!, -limit), limit);
  return { data, dtype: a.dtype };
}

/** The values rounded to another type; to float32 this is free. @throws VdError `attr` for what are no values or no type */
export function cast(a: Values, dtype: LatentDtype): Values {
  requireFields("cast", a, VALUES);
  requireArgument("cast dtype", dtype, DTYPE);
  if (a.dtype === dtype) return a;
  return dtype === "float32" ? { data: a.data, dtype } : rounded(a.data.slice(), dtype);
}

/** Σ weights[i]·terms[i], accumulated in float32 and rounded to the terms' type at the end, as a matrix product is. */
export function weightedSum(weights: readonly number[], terms: readonly Values[]): Values {
  const [first] = terms;
  if (first === undefined) {
    throw new VdError({ code: "internal", where: "weightedSum", expected: "at least one term", got: "none" });
  }
  const data = new Float32Array(first.data.length);
  for (let t = 0; t < terms.length; t++) {
    const weight = Math.fround(weights[t]!);
    const term = terms[t]!.data;
    for (let i = 0; i < data.length; i++) data[i] = data[i]! + term[i]! * weight;
  }
  return rounded(data, first.dtype);
}
