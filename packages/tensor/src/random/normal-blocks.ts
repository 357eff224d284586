import { roundToBfloat16, roundToFloat16 } from "../half";

/** How a block of uniforms becomes normals: the type whose rounding every operation has. */
export type Rounding = (value: number) => number;

/** No rounding beyond float64. */
export const roundToFloat64: Rounding = (value) => value;

/** torch fills normals in blocks of so many. */
export const blockLength = 16;

/**
 * Turns 16 uniforms in [0, 1) at `start` into 16 normals in place, each operation rounded: the first eight are radii, the
 * last eight angles; cosines come first, then sines. Source: pytorch/pytorch aten/src/ATen/native/cpu/
 * DistributionTemplates.h `normal_fill_16` (Box and Muller, 1958).
 */
export function boxMullerBlock(values: Float32Array | Float64Array, start: number, round: Rounding): void {
  const turn = 2 * Math.PI;
  for (let j = start; j < start + 8; j++) {
    const radius = round(Math.sqrt(round(-2 * round(Math.log(round(1 - values[j]!))))));
    const angle = round((round === Math.fround ? Math.fround(turn) : turn) * values[j + 8]!);
    values[j] = radius * round(Math.cos(angle));
    values[j + 8] = radius * round(Math.sin(angle));
  }
}

/** How 16-bit types round, how many bits their uniforms have, and what the op contract calls them. */
export const halfTypes = {
  float16: { round: roundToFloat16 as Rounding, uniformBits: 11, native: "f16" },
  bfloat16: { round: roundToBfloat16 as Rounding, uniformBits: 8, native: "bf16" },
} as const;
