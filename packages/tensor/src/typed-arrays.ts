import { types } from "node:util";
import { shown, VdError } from "@vd/kernels-native";

/** Arrays whose elements' bits are read as they are. */
const CHECKS = {
  Float32Array: types.isFloat32Array,
  Uint16Array: types.isUint16Array,
  Uint8Array: types.isUint8Array,
} as const;

const nameOf = (value: unknown): string =>
  typeof value === "object" && value !== null ? (value.constructor?.name ?? "an object") : String(value);

/**
 * Refuses an array of another type: its bits would be read as numbers that it does not hold. where: the function's name.
 *
 * @throws VdError `dtype`
 */
export function requireArray(where: string, values: unknown, type: keyof typeof CHECKS): void {
  if (!CHECKS[type](values)) throw new VdError({ code: "dtype", where, expected: `a ${type}`, got: nameOf(values) });
}

/** Throws the error for what is no number, which callers that are called for every number of a tensor find out by themselves. */
export function refuseNumber(where: string, value: unknown): never {
  throw new VdError({ code: "attr", where, expected: "a number", got: shown(value) });
}
