/*
 * The quantile function of the Beta(a, b) distribution, for the noise levels of "Beta Sampling is All You Need"
 * (https://arxiv.org/abs/2407.12173).
 */

/** ln Γ(x) for x > 0, by Lanczos' approximation with g = 7. Source: Numerical Recipes, 6.1. */
function logGamma(x: number): number {
  const coefficients = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const shifted = x - 1;
  let sum = coefficients[0]!;
  for (let i = 1; i < coefficients.length; i++) sum += coefficients[i]! / (shifted + i);
  const t = shifted + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The continued fraction of the incomplete beta function, by Lentz's method; converges fast for x < (a+1)/(a+b+2). */
function betaContinuedFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / Math.max(Math.abs(1 - ((a + b) * x) / (a + 1)), tiny);
  let result = d;
  for (let m = 1; m < 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const term of [even, odd]) {
      d = 1 / (1 + term * d || tiny);
      c = 1 + term / c || tiny;
      change = d * c;
      result *= change;
    }
    if (Math.abs(change - 1) < 1e-16) break;
  }
  return result;
}

/** The regularised incomplete beta function I_x(a, b) for x in 0…1. */
function regularizedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - regularizedBeta(1 - x, b, a);
  const logScale = a * Math.log(x) + b * Math.log1p(-x) + logGamma(a + b) - logGamma(a) - logGamma(b);
  return (Math.exp(logScale) * betaContinuedFraction(x, a, b)) / a;
}

/** x with I_x(a, b) = probability in the lower half, by bisection on ln x: the quantile spans many magnitudes. */
function lowerQuantile(probability: number, a: number, b: number): number {
  let low = -800;
  let high = 0;
  for (let i = 0; i < 200 && high - low > 1e-16 * Math.abs(low); i++) {
    const middle = (low + high) / 2;
    if (regularizedBeta(Math.exp(middle), a, b) < probability) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}

/** The quantile of Beta(a, b) at a probability in 0…1, to about 1e-14; what scipy.stats.beta.ppf gives. */
export function betaQuantile(probability: number, a: number, b: number): number {
  if (probability <= 0) return 0;
  if (probability >= 1) return 1;
  // The end that is nearer is the one where the quantile must be exact relative to its own size.
  return probability <= 0.5 ? lowerQuantile(probability, a, b) : 1 - lowerQuantile(1 - probability, b, a);
}
