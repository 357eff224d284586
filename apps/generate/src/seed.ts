import { randomBytes } from "node:crypto";

/** @returns a random seed of 32 bits: short enough to type again. */
export function drawSeed(): bigint {
  return BigInt(randomBytes(4).readUInt32LE());
}
