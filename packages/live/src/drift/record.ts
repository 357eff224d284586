import { channelRange, elementwise, type Graph, pixels, type Tensor, tokens } from "@vd/tensor";

/** Side of the squares whose means make the small picture that repetition is looked for in. */
export const THUMBNAIL = 8;
/** Levels a channel of the colour histogram. */
export const LEVELS = 4;
/** Added to variances, so that a single colour has none; its root is far below one level of 255. */
export const DRIFT_EPS = 1e-8;

const CHANNELS = 3;

/** What {@link recordDrift} leaves for {@link driftMeasure}: names of outputs. */
export const DRIFT_OUTPUTS = [
  "drift.channels",
  "drift.temporal",
  "drift.across",
  "drift.down",
  "drift.saturation",
  "drift.histogram",
  "drift.thumbnail",
] as const;

const stats = (g: Graph, name: string, x: Tensor, groups: number) =>
  g.output(name, g.groupNormStats({ name, x, groups, eps: DRIFT_EPS }));

/** Mean absolute difference of neighbours along one axis. kernel: 2 along the axis. */
function recordDetail(g: Graph, name: string, frame: Tensor, kernel: [number, number]): void {
  const filter = new Float32Array(CHANNELS * CHANNELS * 2);
  for (let c = 0; c < CHANNELS; c++) filter.set([-1, 1], (c * CHANNELS + c) * 2);
  const weight = g.constant(filter, [CHANNELS, CHANNELS, 1, ...kernel]);
  const difference = g.conv({ name: `${name}.difference`, x: frame, weight });
  const size = elementwise(g, (e) => e.abs(tokens(difference)), { name: `${name}.size` });
  stats(g, name, pixels(size, difference.dims[2]!, difference.dims[3]!), 1);
}

/** Mean of the largest less the smallest channel. */
function recordSaturation(g: Graph, frame: Tensor): void {
  const [r, gr, b] = [0, 1, 2].map((c) => tokens(channelRange(frame, c, c + 1))) as [Tensor, Tensor, Tensor];
  const spread = elementwise(g, (e) => e.sub(e.max(e.max(r, gr), b), e.min(e.min(r, gr), b)), { name: "drift.spread" });
  stats(g, "drift.saturation", pixels(spread, frame.dims[2]!, frame.dims[3]!), 1);
}

/** Averages over squares of `side` pixels. */
function shrunk(g: Graph, name: string, frame: Tensor, side: number): Tensor {
  const [, , height, width] = frame.dims as [number, number, number, number, number];
  const window = [1, Math.min(side, height), Math.min(side, width)] as [number, number, number];
  return g.pool({ name, mode: "average", x: frame, kernel: window, stride: window });
}

/** Parts of the pixels of the picture at half its size by colour: of each channel, a pixel belongs to the two levels beside it in proportion to its nearness, and to
 *  a colour by the product. */
function recordHistogram(g: Graph, whole: Tensor): void {
  const frame = shrunk(g, "drift.half", whole, 2);
  const steps = Array.from({ length: LEVELS }, (_, level) => -1 + (2 * level + 1) / LEVELS);
  const last = steps[LEVELS - 1]!;
  const inside = elementwise(g, (e) => e.max(e.min(tokens(frame), last), -last), { name: "drift.inside" });
  const numColours = LEVELS ** CHANNELS;
  const parts = [0, 1, 2].map((channel) => {
    // In units of the distance of two levels, from the level that the colour has in this channel.
    const weight = new Float32Array(numColours * CHANNELS);
    const bias = new Float32Array(numColours);
    for (let colour = 0; colour < numColours; colour++) {
      weight[colour * CHANNELS + channel] = LEVELS / 2;
      bias[colour] = (-LEVELS / 2) * steps[Math.floor(colour / LEVELS ** channel) % LEVELS]!;
    }
    const [w, b] = [g.constant(weight, [numColours, CHANNELS]), g.constant(bias, [numColours])];
    const distance = g.linear({ name: `drift.distance.${channel}`, x: inside, weight: w, bias: b });
    return elementwise(g, (e) => e.relu(e.sub(1, e.abs(distance))), { name: `drift.part.${channel}` });
  }) as [Tensor, Tensor, Tensor];
  const joint = elementwise(g, (e) => e.mul(e.mul(parts[0], parts[1]), parts[2]), { name: "drift.colours" });
  stats(g, "drift.histogram", pixels(joint, frame.dims[2]!, frame.dims[3]!), numColours);
}

/**
 * Records what {@link driftMeasure} reads of a frame. frame, before: [1,1,H,W,3] in [-1, 1].
 */
export function recordDrift(g: Graph, frame: Tensor, before: Tensor): void {
  const [, , height, width] = frame.dims as [number, number, number, number, number];
  stats(g, "drift.channels", frame, CHANNELS);
  const change = g.pointwise({ name: "drift.change", a: tokens(frame), b: tokens(before), bScale: -1 });
  stats(g, "drift.temporal", pixels(change, height, width), 1);
  recordDetail(g, "drift.across", frame, [1, 2]);
  recordDetail(g, "drift.down", frame, [2, 1]);
  recordSaturation(g, frame);
  recordHistogram(g, frame);
  g.output("drift.thumbnail", shrunk(g, "drift.thumbnail", frame, THUMBNAIL));
}
