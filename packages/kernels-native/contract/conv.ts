import { bool, type CostScope, type Rule } from "./define-op";
import { add, and, attr, choose, convOut, type Expr, eq, ge, mul, or, sub } from "./expr";

/** True where a convolution is transposed. */
export const transposed = attr("transposed");

/** The attribute that says so. */
export const transposedAttr = bool("transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1");

const paddingOf = (axis: number) => add(attr("padding", 2 * axis), attr("padding", 2 * axis + 1));

/** Results along an axis: 0 for frames, 1 for height, 2 for width. size: of what is convolved; kernel: the filters' size. */
export const sizeAlong = (axis: number, size: Expr, kernel: string) =>
  convOut(size, kernel, attr("stride", axis), paddingOf(axis));

/** The same where a transposed convolution of kernel 4, stride 2 and padding 1 doubles the size. pixels: of x; size: as above. */
export const sizeOrDoubled = (axis: number, pixels: string, kernel: string, size: Expr = pixels) =>
  choose(transposed, mul(2, pixels), sizeAlong(axis, size, kernel));

/** Filters fit into what is convolved along an axis. where: what is named if they do not. */
export const covers = (axis: number, where: string, kernel: string, size: Expr = where): Rule => ({
  where,
  test: or(transposed, ge(add(size, paddingOf(axis)), kernel)),
  expected: "a padded size of at least the kernel's",
  got: add(size, paddingOf(axis)),
});

/** The output channels of filters [M,D,T,R,S]. */
export const filterCount = choose(transposed, "D", "M");

/** What must hold of a transposed convolution, else nothing. */
export const whereTransposed = (where: string, holds: Expr, expected: string, got: Expr): Rule => ({
  ...{ where, test: or(sub(1, transposed), holds), expected: `${expected} where transposed`, got },
});

/** What a transposed convolution must be, as every backend computes it as four of 2x2. */
export const transposedRules: readonly Rule[] = [
  whereTransposed("weight", and(eq("T", 1), and(eq("R", 4), eq("S", 4))), "1x4x4 filters", "R"),
  whereTransposed("stride", eq(attr("stride", 0), 1), "a step of 1 in frames", attr("stride", 0)),
  whereTransposed("stride", eq(attr("stride", 1), 2), "steps of 2 in rows", attr("stride", 1)),
  whereTransposed("stride", eq(attr("stride", 2), 2), "steps of 2 in columns", attr("stride", 2)),
  ...([0, 0, 1, 1, 1, 1] as const).map((size, side) =>
    whereTransposed("padding", eq(attr("padding", side), size), "a padding of 0,0,1,1,1,1", attr("padding", side)),
  ),
];

/** Twice the products of a convolution of filters [M,D,T,R,S]: transposed, every pixel of x meets every tap; else every result does. */
export function convFlops({ B, F, H, W, C, G, P, Q, K, D, T, R, S, transposed: isTransposed }: CostScope): number {
  return isTransposed ? 2 * B! * F! * H! * W! * C! * K! * R! * S! : 2 * B! * G! * P! * Q! * K! * D! * T! * R! * S!;
}
