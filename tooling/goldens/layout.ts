/** Moves dimension `from` of a packed tensor to position `to`; returns the values in their new order. */
export function moveDimension(
  values: ArrayLike<number>,
  shape: readonly number[],
  from: number,
  to: number,
): { values: Float32Array; shape: number[] } {
  const order = shape.map((_, i) => i);
  order.splice(to, 0, ...order.splice(from, 1));
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((product, size) => product * size, 1));
  const moved = order.map((i) => shape[i]!);
  const result = new Float32Array(values.length);
  const index = moved.map(() => 0);
  for (let i = 0; i < result.length; i++) {
    let source = 0;
    for (let d = 0; d < order.length; d++) source += index[d]! * strides[order[d]!]!;
    result[i] = values[source]!;
    for (let d = order.length - 1; d >= 0 && ++index[d]! === moved[d]; d--) index[d] = 0;
  }
  return { values: result, shape: moved };
}

/** A clip of channels-last pixels, and how the golden stores it. */
export interface Clip {
  values: Float32Array;
  /** [B,F,H,W,C]. */
  dims: [number, number, number, number, number];
}

/** Planes as channels-last pixels. shape: [B,C,W], [B,C,H,W] or [B,C,F,H,W] → [B,F,H,W,C], absent axes of size 1. */
export function toPixels(values: ArrayLike<number>, shape: readonly number[]): Clip {
  if (shape.length < 2 || shape.length > 5) throw new Error(`expected planes of 2 to 5 dimensions, got [${shape}]`);
  const last = moveDimension(values, shape, 1, shape.length - 1);
  const [batch, ...rest] = last.shape;
  const ones = Array.from({ length: 5 - shape.length }, () => 1);
  return { values: last.values, dims: [batch!, ...ones, ...rest] as Clip["dims"] };
}

/** Channels-last pixels as planes: [B,F,H,W,C] → [B,C,F,H,W]; the same numbers serve [B,C,H,W] where F is 1. */
export function toPlanes(values: ArrayLike<number>, dims: readonly number[]): Float32Array {
  return moveDimension(values, dims, 4, 1).values;
}
