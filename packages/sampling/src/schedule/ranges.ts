/*
 * The number ranges that numpy and torch make, with their rounding: integer timesteps must come out exactly, and many
 * of them lie on a rounding edge.
 */

/** numpy.linspace(start, stop, count), in float64. count ≥ 1. */
export function linspace(start: number, stop: number, count: number): number[] {
  if (count === 1) return [start];
  const step = (stop - start) / (count - 1);
  const values = Array.from({ length: count }, (_, i) => i * step + start);
  values[count - 1] = stop;
  return values;
}

/**
 * torch.linspace(start, stop, count) in float32: from both ends towards the middle, each value one fused multiply-add,
 * as torch's x86 build computes it. count ≥ 1.
 */
export function linspaceFloat32(start: number, stop: number, count: number): Float32Array {
  const first = Math.fround(start);
  const last = Math.fround(stop);
  if (count === 1) return Float32Array.of(first);
  const step = Math.fround(Math.fround(last - first) / (count - 1));
  const halfway = Math.floor(count / 2);
  return Float32Array.from({ length: count }, (_, i) =>
    i < halfway ? first + step * i : last - step * (count - 1 - i),
  );
}

/** numpy.arange(start, 0, −step), in float64: the difference of the first two values is what gets multiplied. */
export function arangeDown(start: number, step: number): number[] {
  const count = Math.max(0, Math.ceil(-start / -step));
  const delta = start - step - start;
  return Array.from({ length: count }, (_, i) => (i === 1 ? start - step : start + i * delta));
}

/** Rounds half to even, as numpy and Python do. */
export function roundHalfEven(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}

/** numpy.interp(x, [0, 1, 2, …], values): linear between neighbours, constant outside. */
export function interpolate(x: number, values: ArrayLike<number>): number {
  const last = values.length - 1;
  if (x <= 0) return values[0]!;
  if (x >= last) return values[last]!;
  const low = Math.floor(x);
  return (values[low + 1]! - values[low]!) * (x - low) + values[low]!;
}

/** Returns every value but the first (and, where `lastOnce`, the last) twice: one per call of a method with two calls a
 *  step, the last step of which has one. */
export function perCall(values: readonly number[], lastOnce: boolean): number[] {
  return values.flatMap((value, i) => (i === 0 || (lastOnce && i === values.length - 1) ? [value] : [value, value]));
}
