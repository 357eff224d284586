/** Width and height in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** A model for frames of no more pixels is small, with fewer levels: its sides may be finer multiples. */
const SMALL_PIXELS = 256 ** 2;
/** By how much networks shrink latents on their way down: three times by two, those of small models twice. */
const DEPTH = { usual: 8, small: 4 };

/** How far two quantities are apart, whichever is larger. */
const distance = (a: number, b: number): number => Math.abs(Math.log(a / b));

/** The two multiples of `step` around a length, from `step` up. */
function multiplesAround(length: number, step: number): number[] {
  const below = Math.max(1, Math.floor(length / step)) * step;
  return [below, below + step];
}

/**
 * Returns the size for a picture's shape that suits a model: sides are multiples of what the networks shrink them by, the
 * shape is as near as they allow, and there are about as many pixels as at the model's own size. factor: by how much the
 * autoencoder shrinks a side.
 */
export function autoSize(picture: Size, own: Size, factor: number): Size {
  const pixels = own.width * own.height;
  const shape = picture.width / picture.height;
  const step = factor * (pixels <= SMALL_PIXELS ? DEPTH.small : DEPTH.usual);
  const widths = multiplesAround(Math.sqrt(pixels * shape), step);
  const heights = multiplesAround(Math.sqrt(pixels / shape), step);
  const sizes = widths.flatMap((width) => heights.map((height) => ({ width, height })));
  // The shape counts twice: what it is off by is cut away, while a few pixels more or less are not seen.
  const cost = ({ width, height }: Size) => 2 * distance(width / height, shape) + distance(width * height, pixels);
  return sizes.reduce((best, size) => (cost(size) < cost(best) ? size : best));
}
