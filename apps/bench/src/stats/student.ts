const LN_SQRT_PI = Math.log(Math.PI) / 2;

/** ln Γ(n / 2) for whole n ≥ 1: by Γ(x + 1) = x Γ(x) from Γ(½) = √π or Γ(1) = 1. */
function logGammaOfHalf(n: number): number {
  let sum = n % 2 === 1 ? LN_SQRT_PI : 0;
  for (let twice = n - 2; twice > 0; twice -= 2) sum += Math.log(twice / 2);
  return sum;
}

const MOST_TERMS = 500;
const PRECISION = 1e-14;
const TINY = 1e-300;

/** The continued fraction of the incomplete beta function by Lentz' method. Source: DLMF 8.17.22. */
function betaFraction(a: number, b: number, x: number): number {
  const bounded = (value: number) => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / bounded(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= MOST_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    const before = result;
    for (const term of [even, odd]) {
      d = 1 / bounded(1 + term * d);
      c = bounded(1 + term / c);
      result *= c * d;
    }
    if (Math.abs(result / before - 1) < PRECISION) break;
  }
  return result;
}

/** Probability that Student's t exceeds `t` ≥ 0: half of the regularized incomplete beta function I_x(ν / 2, ½) at
 *  x = ν / (ν + t²). freedom: ν, a whole number. Source: DLMF 8.17. */
function upperTail(t: number, freedom: number): number {
  if (t === 0) return 0.5;
  const [a, b] = [freedom / 2, 0.5];
  const x = freedom / (freedom + t * t);
  const logBeta = logGammaOfHalf(freedom) + LN_SQRT_PI - logGammaOfHalf(freedom + 1);
  const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta);
  // The fraction converges fast on one side of the middle; the other follows by symmetry.
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a / 2;
  return (1 - (front * betaFraction(b, a, 1 - x)) / b) / 2;
}

const HALVINGS = 200;

/** The value that Student's t exceeds with probability 1 − `part`. part: from 0.5 to below 1. freedom: a whole number, 1 or more. */
export function studentQuantile(part: number, freedom: number): number {
  const wanted = 1 - part;
  let [low, high] = [0, 1];
  while (upperTail(high, freedom) > wanted) high *= 2;
  for (let i = 0; i < HALVINGS && high - low > PRECISION * high; i++) {
    const middle = (low + high) / 2;
    if (upperTail(middle, freedom) > wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
