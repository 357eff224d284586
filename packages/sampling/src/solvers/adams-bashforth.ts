import { add, div, mul, sub, type Values } from "../arithmetic/values";

/**
 * Returns the Adams–Bashforth combination of the last slopes, newest first: of order 1 to 4, as many as there are, for steps of one
 * size. Source: https://arxiv.org/abs/2202.09778, equation 10.
 */
export function adamsBashforth([s0, s1, s2, s3]: readonly Values[]): Values {
  if (s1 === undefined) return s0!;
  if (s2 === undefined) return div(sub(mul(3, s0!), s1), 2);
  if (s3 === undefined) return div(add(sub(mul(23, s0!), mul(16, s1)), mul(5, s2)), 12);
  return mul(sub(add(sub(mul(55, s0!), mul(59, s1)), mul(37, s2)), mul(9, s3)), 1 / 24);
}
