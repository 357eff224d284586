import type { UnetChainConfig } from "../../src/index";

/** A picture in float64, planes after each other. */
export interface Planes {
  channels: number;
  height: number;
  width: number;
  data: Float64Array;
}

type WeightOf = (name: string) => ArrayLike<number>;

const planes = (channels: number, height: number, width: number): Planes => ({
  ...{ channels, height, width },
  data: new Float64Array(channels * height * width),
});

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const silu = (x: number) => x * sigmoid(x);

/** erf by its Taylor series, or by its continued fraction where that converges sooner. */
function erf(x: number): number {
  if (x < 0) return -erf(-x);
  if (x > 3) {
    let fraction = 0;
    for (let k = 60; k >= 1; k--) fraction = k / 2 / (x + fraction);
    return 1 - Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
  }
  let [term, sum] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const gelu = (x: number) => 0.5 * x * (1 + erf(x / Math.SQRT2));

/** Plain loops over the network's layers, written from their definitions alone: convolution, then batch norm by its running statistics, and so on. */
export class UnetChainReference {
  readonly stages = new Map<string, Planes>();

  constructor(
    private readonly weight: WeightOf,
    private readonly config: UnetChainConfig,
  ) {}

  run(sample: Planes, previous: Planes, timestep: number): Planes {
    const half = this.config.timeChannels / 2;
    const wave = (i: number) => timestep * 10_000 ** -((i % half) / half);
    const told = Float64Array.from({ length: 2 * half }, (_, i) =>
      silu(i < half ? Math.sin(wave(i)) : Math.cos(wave(i))),
    );
    const last = this.config.baseChannels.reduce((x, base, i) => this.unet(`unets.${i}`, x, base, told), sample);
    return this.temporal(last, previous);
  }

  private keep(name: string, x: Planes): Planes {
    this.stages.set(name, x);
    return x;
  }

  private unet(name: string, sample: Planes, base: number, told: Float64Array): Planes {
    const widths = this.config.multipliers.map((factor) => factor * base);
    const skips = [this.block(`${name}.first`, sample, widths[0]!)];
    let x = skips[0]!;
    for (let i = 1; i < widths.length; i++) {
      const scope = `${name}.down.${i - 1}`;
      x = this.attention(
        `${scope}.transformer`,
        this.block(`${scope}.conv`, halve(x), widths[i]!, { told, of: scope }),
      );
      skips.push(x);
    }
    skips.pop();
    for (const [i, factor] of this.config.middleMultipliers.entries())
      x = this.block(`${name}.middle.${i}.conv`, x, factor * base, { told, of: `${name}.middle.${i}` });
    for (let i = 0; skips.length > 0; i++) {
      const skip = skips.pop()!;
      const whole = concatenate(skip, grow(x, skip.height, skip.width));
      const scope = `${name}.up.${i}`;
      const cout = widths[Math.max(widths.length - 3 - i, 0)]!;
      x = this.block(`${scope}.conv`, whole, cout, { told, of: scope, inner: Math.floor(whole.channels / 2) });
      if (skips.length > 0) x = this.attention(`${scope}.transformer`, x);
    }
    return this.keep(name, this.pointwise(`${name}.last`, x, this.config.channels));
  }

  private block(
    name: string,
    input: Planes,
    cout: number,
    { told, of, inner = cout }: { told?: Float64Array; of?: string; inner?: number } = {},
  ): Planes {
    const { convsPerBlock: count } = this.config;
    let x = input;
    for (let i = 0; i < count; i++) {
      const isLast = i === count - 1;
      const y = convolve(x, this.weight(`${name}.${i}.conv.weight`), isLast ? cout : inner);
      const bn = (part: string) => this.weight(`${name}.${i}.bn.${part}`);
      const [scale, shift, mean, variance] = [bn("weight"), bn("bias"), bn("running_mean"), bn("running_var")];
      const area = y.height * y.width;
      for (let c = 0; c < y.channels; c++) {
        const bias = isLast && told ? this.told(`${of}.time`, told, c) : 0;
        for (let at = c * area; at < (c + 1) * area; at++) {
          const normed = ((y.data[at]! - mean[c]!) / Math.sqrt(variance[c]! + 1e-5)) * scale[c]! + shift[c]!;
          y.data[at] = silu(normed + bias);
        }
      }
      x = y;
    }
    return this.keep(name, x);
  }

  private told(name: string, told: Float64Array, channel: number): number {
    const weight = this.weight(`${name}.weight`);
    return told.reduce(
      (sum, value, i) => sum + value * weight[channel * told.length + i]!,
      this.weight(`${name}.bias`)[channel]!,
    );
  }

  private pointwise(name: string, x: Planes, cout: number): Planes {
    const [weight, bias] = [this.weight(`${name}.weight`), this.weight(`${name}.bias`)];
    const y = planes(cout, x.height, x.width);
    const area = x.height * x.width;
    for (let k = 0; k < cout; k++)
      for (let at = 0; at < area; at++) {
        let sum = bias[k]!;
        for (let c = 0; c < x.channels; c++) sum += weight[k * x.channels + c]! * x.data[c * area + at]!;
        y.data[k * area + at] = sum;
      }
    return y;
  }

  private norm(name: string, x: Planes): Planes {
    const [weight, bias] = [this.weight(`${name}.weight`), this.weight(`${name}.bias`)];
    const y = planes(x.channels, x.height, x.width);
    const area = x.height * x.width;
    for (let at = 0; at < area; at++) {
      let [mean, square] = [0, 0];
      for (let c = 0; c < x.channels; c++) mean += x.data[c * area + at]! / x.channels;
      for (let c = 0; c < x.channels; c++) square += (x.data[c * area + at]! - mean) ** 2 / x.channels;
      for (let c = 0; c < x.channels; c++)
        y.data[c * area + at] = ((x.data[c * area + at]! - mean) / Math.sqrt(square + 1e-5)) * weight[c]! + bias[c]!;
    }
    return y;
  }

  /** Attention among the pixels that `others` lists for each pixel. */
  private attend(name: string, x: Planes, others: (at: number) => readonly number[]): Planes {
    const qkv = this.pointwise(`${name}.in_proj`, x, 3 * x.channels);
    const [area, size] = [x.height * x.width, x.channels / this.config.heads];
    const y = planes(x.channels, x.height, x.width);
    const number = (part: number, c: number, at: number) => qkv.data[(part * x.channels + c) * area + at]!;
    for (let head = 0; head < this.config.heads; head++)
      for (let at = 0; at < area; at++) {
        const seen = others(at);
        const channels = Array.from({ length: size }, (_, i) => head * size + i);
        const scores = seen.map((other) =>
          channels.reduce((sum, c) => sum + number(0, c, at) * number(1, c, other), 0),
        );
        const largest = Math.max(...scores);
        const parts = scores.map((score) => Math.exp((score - largest) / Math.sqrt(size)));
        const total = parts.reduce((sum, part) => sum + part, 0);
        for (const c of channels)
          y.data[c * area + at] = seen.reduce((sum, other, i) => sum + (parts[i]! / total) * number(2, c, other), 0);
      }
    return y;
  }

  private attention(name: string, x: Planes): Planes {
    const all = Array.from({ length: x.height * x.width }, (_, at) => at);
    const seen = this.attend(`${name}.attention`, this.norm(`${name}.norm`, x), () => all);
    const h = sum(x, this.pointwise(`${name}.attention.out_proj`, seen, x.channels));
    const wide = this.pointwise(
      `${name}.ff.0`,
      this.norm(`${name}.ff.norm`, h),
      this.config.feedForwardFactor * x.channels,
    );
    wide.data.forEach((value, i) => {
      wide.data[i] = gelu(value);
    });
    return this.keep(name, sum(h, this.pointwise(`${name}.ff.1`, wide, x.channels)));
  }

  private temporal(frame: Planes, previous: Planes): Planes {
    const { temporalStride: stride, temporalChannels: width } = this.config;
    const embed = (x: Planes) => this.pointwise("temporal.embed", means(x, stride), width);
    // The previous frame's squares lie behind the frame's own.
    const [own, before] = [embed(frame), embed(previous)];
    const both = planes(width, 2 * own.height, own.width);
    const area = own.height * own.width;
    for (let c = 0; c < width; c++) {
      both.data.set(own.data.subarray(c * area, (c + 1) * area), 2 * c * area);
      both.data.set(before.data.subarray(c * area, (c + 1) * area), (2 * c + 1) * area);
    }
    const seen = this.attend("temporal.attention", this.norm("temporal.norm", both), (at) => [
      at % area,
      (at % area) + area,
    ]);
    const token = planes(width, own.height, own.width);
    for (let c = 0; c < width; c++) token.data.set(seen.data.subarray(2 * c * area, (2 * c + 1) * area), c * area);
    const changed = sum(own, this.pointwise("temporal.attention.out_proj", token, width));
    const correction = this.pointwise("temporal.correct", changed, this.config.channels);
    return this.keep("temporal", sum(frame, grow(correction, frame.height, frame.width)));
  }
}

const sum = (a: Planes, b: Planes): Planes => ({ ...a, data: a.data.map((value, i) => value + b.data[i]!) });

function convolve(x: Planes, weight: ArrayLike<number>, cout: number): Planes {
  const y = planes(cout, x.height, x.width);
  for (let k = 0; k < cout; k++)
    for (let c = 0; c < x.channels; c++)
      for (let r = 0; r < 3; r++)
        for (let s = 0; s < 3; s++) {
          const factor = weight[((k * x.channels + c) * 3 + r) * 3 + s]!;
          for (let row = Math.max(0, 1 - r); row < Math.min(x.height, x.height + 1 - r); row++)
            for (let column = Math.max(0, 1 - s); column < Math.min(x.width, x.width + 1 - s); column++)
              y.data[(k * x.height + row) * x.width + column]! +=
                factor * x.data[(c * x.height + row + r - 1) * x.width + column + s - 1]!;
        }
  return y;
}

/** Of each square of `side` pixels one number. */
function squares(x: Planes, side: number, take: (values: number[]) => number): Planes {
  const y = planes(x.channels, x.height / side, x.width / side);
  for (let c = 0; c < y.channels; c++)
    for (let row = 0; row < y.height; row++)
      for (let column = 0; column < y.width; column++) {
        const values = Array.from({ length: side * side }, (_, i) => {
          const [r, s] = [Math.floor(i / side), i % side];
          return x.data[(c * x.height + row * side + r) * x.width + column * side + s]!;
        });
        y.data[(c * y.height + row) * y.width + column] = take(values);
      }
  return y;
}

const halve = (x: Planes) => squares(x, 2, (values) => Math.max(...values));
const means = (x: Planes, side: number) =>
  squares(x, side, (values) => values.reduce((a, b) => a + b, 0) / values.length);

function grow(x: Planes, height: number, width: number): Planes {
  const y = planes(x.channels, height, width);
  const place = (at: number, from: number, to: number) => {
    const u = Math.max(0, ((at + 0.5) * from) / to - 0.5);
    const low = Math.floor(u);
    return { low, high: Math.min(low + 1, from - 1), part: u - low };
  };
  for (let c = 0; c < x.channels; c++)
    for (let row = 0; row < height; row++)
      for (let column = 0; column < width; column++) {
        const [v, u] = [place(row, x.height, height), place(column, x.width, width)];
        const pixel = (r: number, s: number) => x.data[(c * x.height + r) * x.width + s]!;
        const top = pixel(v.low, u.low) * (1 - u.part) + pixel(v.low, u.high) * u.part;
        const bottom = pixel(v.high, u.low) * (1 - u.part) + pixel(v.high, u.high) * u.part;
        y.data[(c * height + row) * width + column] = top * (1 - v.part) + bottom * v.part;
      }
  return y;
}

function concatenate(a: Planes, b: Planes): Planes {
  const y = planes(a.channels + b.channels, a.height, a.width);
  y.data.set(a.data);
  y.data.set(b.data, a.data.length);
  return y;
}
