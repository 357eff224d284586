import type { TensorCheck } from "./kind";

type Numbers = ArrayLike<number>;

function check(name: string, metric: TensorCheck["metric"], error: number, tolerance: number): TensorCheck {
  return { name, metric, error, tolerance, ok: error <= tolerance };
}

function lengthMismatch(name: string, metric: TensorCheck["metric"], ours: Numbers, golden: Numbers): TensorCheck {
  const note = `length ${ours.length} for ${golden.length}`;
  return { name, metric, error: Number.NaN, tolerance: 0, ok: false, note };
}

/** ‖ours − golden‖ / ‖golden‖ in float64; NaN in ours never passes. */
export function relativeL2(name: string, ours: Numbers, golden: Numbers, tolerance: number): TensorCheck {
  if (ours.length !== golden.length) return lengthMismatch(name, "rel_l2", ours, golden);
  let difference = 0;
  let norm = 0;
  for (let i = 0; i < golden.length; i++) {
    const d = ours[i]! - golden[i]!;
    difference += d * d;
    norm += golden[i]! * golden[i]!;
  }
  const error = norm === 0 ? Math.sqrt(difference) : Math.sqrt(difference / norm);
  return check(name, "rel_l2", error, tolerance);
}

/** max |ours − golden|; NaN in ours never passes. */
export function maxAbs(name: string, ours: Numbers, golden: Numbers, tolerance: number): TensorCheck {
  if (ours.length !== golden.length) return lengthMismatch(name, "maxabs", ours, golden);
  let worst = 0;
  for (let i = 0; i < golden.length; i++) {
    const d = Math.abs(ours[i]! - golden[i]!);
    if (!(d <= worst)) worst = d;
  }
  return check(name, "maxabs", worst, tolerance);
}

/** The number of elements that differ; zero passes. */
export function exact(name: string, ours: Numbers, golden: Numbers): TensorCheck {
  if (ours.length !== golden.length) return lengthMismatch(name, "exact", ours, golden);
  let different = 0;
  for (let i = 0; i < golden.length; i++) if (ours[i] !== golden[i]) different++;
  return check(name, "exact", different, 0);
}
