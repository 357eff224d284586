import { having, NUMBER, requireArgument, requireFields, type WantedFields } from "@vd/kernels-native";
import type { Tolerance } from "@vd/kernels-native/contract";

const NUMBERS = having("a list of numbers", ["length"]);
const LIMIT: WantedFields = { nmse: NUMBER, worst: NUMBER };

/** How far numbers are from the right ones, in the terms of the contract's tolerance. */
export interface Distance {
  /** Sum of squared differences over the sum of squares. */
  nmse: number;
  /** Largest difference over the root mean square. */
  worst: number;
}

const INFINITELY_FAR: Distance = { nmse: Number.POSITIVE_INFINITY, worst: Number.POSITIVE_INFINITY };

/**
 * Returns how far `got` is from `wanted`; infinite where infinities or NaN are not in the same places, and where nothing but NaN is
 * wanted, which is what memory that nobody wrote holds.
 */
export function distance(got: ArrayLike<number>, wanted: ArrayLike<number>): Distance {
  if (got.length !== wanted.length) return INFINITELY_FAR;
  let [squares, error, largest, count, numNaN] = [0, 0, 0, 0, 0];
  for (let i = 0; i < wanted.length; i++) {
    if (got[i] === wanted[i] && !Number.isFinite(wanted[i])) continue;
    if (Number.isNaN(got[i]) && Number.isNaN(wanted[i])) {
      numNaN++;
      continue;
    }
    const d = Math.abs(got[i]! - wanted[i]!);
    // Also false for NaN.
    if (!(d < Number.POSITIVE_INFINITY)) return INFINITELY_FAR;
    squares += wanted[i]! * wanted[i]!;
    error += d * d;
    largest = Math.max(largest, d);
    count++;
  }
  if (numNaN > 0 && numNaN === wanted.length) return INFINITELY_FAR;
  if (error === 0) return { nmse: 0, worst: 0 };
  if (squares === 0) return INFINITELY_FAR;
  return { nmse: error / squares, worst: largest / Math.sqrt(squares / count) };
}

/** Returns what exceeds `limit`, as text; empty where `got` is near enough to `wanted`.
 *  @throws VdError `attr` for what are no lists and no limit */
export function tooFar(got: ArrayLike<number>, wanted: ArrayLike<number>, limit: Tolerance): string {
  requireArgument("tooFar got", got, NUMBERS);
  requireArgument("tooFar wanted", wanted, NUMBERS);
  requireFields("tooFar limit", limit, LIMIT);
  const { nmse, worst } = distance(got, wanted);
  const parts: string[] = [];
  if (!(nmse <= limit.nmse)) parts.push(`nmse ${nmse.toExponential(2)} above ${limit.nmse}`);
  if (!(worst <= limit.worst)) parts.push(`worst ${worst.toExponential(2)} above ${limit.worst}`);
  return parts.join(", ");
}

/** Names of kernels, and those of kernels whose place they take by the size of a result, the type of weights or what a driver compiles: they
 *  must give the same bits. */
const TAKES_PLACE: readonly (readonly [name: RegExp, of: string])[] = [
  [/_compiled$/, "_program"],
  [/_(?:f32|f16|bf16)_ready_/, "_"],
];

/** Returns which kernels give other bits than they must, as sentences. bytes: results by the kernel's name. */
export function unlikeBits(bytes: ReadonlyMap<string, Buffer>): string[] {
  return [...bytes].flatMap(([name, own]) =>
    TAKES_PLACE.flatMap(([pattern, of]) => {
      const otherName = name.replace(pattern, of);
      const others = otherName === name ? undefined : bytes.get(otherName);
      return others === undefined || others.equals(own) ? [] : [`${name} gives other bits than ${otherName}`];
    }),
  );
}
