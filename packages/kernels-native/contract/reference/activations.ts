/** erf in float64: the Taylor series near 0, the continued fraction of erfc elsewhere. */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (z < 2.5) {
    let [term, sum] = [z, z];
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
      term *= (-z * z) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 60; n > 0; n--) fraction = n / 2 / (z + fraction);
  return Math.sign(x) * (1 - Math.exp(-z * z) / (Math.sqrt(Math.PI) * (z + fraction)));
}

/** The activations by name, as their papers define them. */
export const ACTIVATE: Readonly<Record<string, (x: number) => number>> = {
  none: (x) => x,
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  quick_gelu: (x) => x / (1 + Math.exp(-1.702 * x)),
  relu: (x) => Math.max(x, 0),
};
