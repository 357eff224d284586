import { VdError } from "@vd/kernels-native";

/** A 64-bit seed as two unsigned 32-bit words. */
export interface SeedWords {
  low: number;
  high: number;
}

/**
 * The words of a seed in −2^63…2^64−1; a negative one is taken as its two's complement, as torch does.
 *
 * @throws VdError `attr` for what is no integer, does not fit, or is a `number` that is too large to be exact
 */
export function seedWords(seed: number | bigint): SeedWords {
  const isExact = typeof seed === "bigint" || Number.isSafeInteger(seed);
  const value = isExact ? BigInt(seed) : undefined;
  if (value === undefined || value < -(2n ** 63n) || value >= 2n ** 64n) {
    throw new VdError({
      code: "attr",
      where: "seed",
      expected: "an integer in -2^63…2^64-1",
      got: String(seed),
      hint: "Beyond 2^53 pass a bigint.",
    });
  }
  const bits = BigInt.asUintN(64, value);
  return { low: Number(bits & 0xffff_ffffn), high: Number(bits >> 32n) };
}
