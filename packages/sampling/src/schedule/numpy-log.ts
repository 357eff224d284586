/*
 * numpy's float32 logarithm is up to 2 units off the nearest float32 on every machine with AVX2 (a ratio of two
 * polynomials, by fused multiply-adds). The reference derives integer timesteps from it by truncation, so a table of
 * exact logarithms would put some of them one lower. Source: numpy/numpy loops_exponent_log.dispatch.c.src.
 */

const numerator = Float32Array.of(0, 1, 2.1126776, 1.4800006, 0.38088378, 0.025899792);
const denominator = Float32Array.of(1, 2.6126776, 2.453006, 0.9864943, 0.15464763, 0.0058750953);
const ln2 = Math.fround(Math.LN2);
const sqrtHalf = Math.fround(Math.SQRT1_2);

/** a·b + c rounded once to float32: the product of two float32 is exact in float64. */
function fusedMultiplyAdd(a: number, b: number, c: number): number {
  return Math.fround(a * b + c);
}

function polynomial(coefficients: Float32Array, x: number): number {
  let result = coefficients[5]!;
  for (let i = 4; i >= 0; i--) result = fusedMultiplyAdd(result, x, coefficients[i]!);
  return result;
}

/** numpy.log of a float32 value, bit for bit. */
export function numpyLogFloat32(value: number): number {
  const x = Math.fround(value);
  if (!(x > 0) || x === Number.POSITIVE_INFINITY) return Math.log(x);
  let exponent = Math.floor(Math.log2(x)) + 1;
  let mantissa = x / 2 ** exponent;
  // log2 of a value just below a power of two may round up to the integer.
  if (mantissa < 0.5) {
    mantissa *= 2;
    exponent -= 1;
  } else if (mantissa >= 1) {
    mantissa /= 2;
    exponent += 1;
  }
  if (mantissa <= sqrtHalf) {
    mantissa *= 2;
    exponent -= 1;
  }
  const rest = Math.fround(mantissa - 1);
  const ratio = Math.fround(polynomial(numerator, rest) / polynomial(denominator, rest));
  return fusedMultiplyAdd(exponent, ln2, ratio);
}
