import type { Tensor } from "@vd/tensor";
import { planesOf } from "./convolutions";
import type { OpCase, OpResult } from "./op-case";

type Three = [number, number, number];

/** The first rows and columns of x. */
function cropped(current: OpCase, height: number, width: number): Tensor {
  const [batch, channels, h, w] = current.shape("x") as [number, number, number, number];
  const source = current.numbers("x");
  const values = new Float32Array(batch * height * width * channels);
  for (let i = 0; i < values.length; i++) {
    const [pixel, channel] = [Math.floor(i / channels), i % channels];
    const [b, y, x] = [Math.floor(pixel / (height * width)), Math.floor(pixel / width) % height, pixel % width];
    values[i] = source[((b * channels + channel) * h + y) * w + x]!;
  }
  return current.eager.tensor(values, [batch, 1, height, width, channels], current.dtype);
}

/** What to resize. With a scale the reference steps by 1/scale whatever the sizes are: it never sees the rows and
 *  columns that are left over where the size is no multiple of 1/scale. */
function source(current: OpCase, height: number, width: number): Tensor {
  const scale = current.number("scale", Number.NaN);
  const step = 1 / scale;
  // Aligned corners go by the sizes alone.
  const bySizes = Number.isNaN(scale) || current.flag("align_corners") === true || current.shape("x").length !== 4;
  if (bySizes) return current.pixels("x");
  const [, , h, w] = current.shape("x") as [number, number, number, number];
  if (h === height * step && w === width * step) return current.pixels("x");
  if (!Number.isInteger(step) || current.family === "bicubic")
    current.refuse("resize works by sizes; this scale does not divide them");
  return cropped(current, height * step, width * step);
}

/** Nearest, bilinear and bicubic resizing to the golden's size. */
export async function resizing(current: OpCase): Promise<OpResult> {
  const mode = current.family as "nearest" | "bilinear" | "bicubic";
  const [height, width] = current.outShape.slice(-2) as [number, number];
  const x = source(current, height, width);
  const alignCorners = current.flag("align_corners") ?? false;
  const y = await current.eager.ops.resize({ name: current.name, x, height, width, mode, alignCorners });
  return { ...planesOf(current, y), exact: mode === "nearest" };
}

/** Whole factors from shape `small` to shape `large`: [frames, height, width]. */
function blockOf(current: OpCase, small: readonly number[], large: readonly number[]): Three {
  const factors = [2, 1, 0].map((back) => {
    const [from, to] = [small.at(-1 - back)!, large.at(-1 - back)!];
    return small.length < 5 && back === 2 ? 1 : to / from;
  });
  if (factors.some((factor) => !Number.isInteger(factor))) current.refuse("sizes that are no whole multiples");
  return factors as Three;
}

/** pixel_shuffle, or SeedVR's upsampler, whose channels are numbered with the channel last. */
export async function depthToSpace(current: OpCase): Promise<OpResult> {
  const block = blockOf(current, current.shape("x"), current.outShape);
  const order = /seedvr|\(x y z c\)/i.test(current.text) ? "channels_last" : "channels_first";
  const y = await current.eager.ops.depthToSpace({ name: current.name, x: current.pixels("x"), block, order });
  return { ...planesOf(current, y), exact: true };
}

/** pixel_unshuffle. */
export async function spaceToDepth(current: OpCase): Promise<OpResult> {
  const block = blockOf(current, current.outShape, current.shape("x"));
  const y = await current.eager.ops.spaceToDepth({ name: current.name, x: current.pixels("x"), block });
  return { ...planesOf(current, y), exact: true };
}

/** Sinusoids of numbers; cosines first where the sines are flipped behind them, a zero behind an odd width. */
export async function timestepEmbedding(current: OpCase): Promise<OpResult> {
  const width = current.outShape.at(-1)!;
  const even = width - (width % 2);
  const scale = current.number("scale", 1);
  const numbers = current.numbers("t").map((value) => value * scale);
  const y = await current.eager.ops.timestepEmbedding({
    name: current.name,
    t: current.eager.tensor(numbers, [1, numbers.length]),
    width: even,
    maxPeriod: Number(/ln\((\d+(?:\.\d+)?)\)/.exec(current.text)?.[1] ?? current.number("max_period", 10000)),
    downscaleShift: current.number("downscale_freq_shift", 0),
  });
  const ours = current.eager.readSync(y);
  const cosinesFirst = current.flag("flip_sin_to_cos") ?? /^[^:]*\[cos/.test(current.text);
  const values = new Float32Array(numbers.length * width);
  for (let i = 0; i < numbers.length; i++)
    for (let j = 0; j < even; j++) {
      const from = cosinesFirst ? j : (j + even / 2) % even;
      values[i * width + j] = ours[i * even + from]!;
    }
  return { values };
}
