import { channelRange, elementwise, type Graph, pixels, reshape, type Tensor, tokens } from "@vd/tensor";
import type { FrameMemory } from "./frame-memory";

const CHANNELS = 3;
/** Added to variances before their root. */
const EPS = 1e-6;

/** A picture is lively while at least this part of the start's contrast and of its detail is left. */
export const LIVELY = 0.65;
/** How fast recovery begins: its change a frame for each part of liveliness that is missing. */
export const RECOVERY_RATE = 0.05;
/** What is there in excess counts up to this part: recovery then ends over 500 frames at least. Ended as fast as it begins, it would settle where pictures
 *  are just dull, and hold a game in its dusk. */
export const MOST_EXCESS = 0.04;

/** Mean and 1/deviation of each channel, [1,1,1,3] each. frame: [1,1,H,W,3]. */
function recordMoments(g: Graph, frame: Tensor): { mean: Tensor; inverse: Tensor } {
  const pairs = g.groupNormStats({ name: "frame.moments", x: frame, groups: CHANNELS, eps: EPS });
  // Apart by a product with zeros and ones, which changes no number.
  const order = new Float32Array((2 * CHANNELS) ** 2);
  for (let c = 0; c < CHANNELS; c++) for (const i of [0, 1]) order[(i * CHANNELS + c) * 2 * CHANNELS + 2 * c + i] = 1;
  const weight = g.constant(order, [2 * CHANNELS, 2 * CHANNELS]);
  const apart = g.linear({ name: "frame.apart", x: reshape(pairs, [1, 1, 1, 2 * CHANNELS]), weight });
  return { mean: channelRange(apart, 0, CHANNELS), inverse: channelRange(apart, CHANNELS, 2 * CHANNELS) };
}

/** Mean absolute difference of neighbours in a row, [1,1,1,1]. frame: [1,1,H,W,3]. */
function recordRowDetail(g: Graph, frame: Tensor): Tensor {
  const [, , height, width] = frame.dims as [number, number, number, number, number];
  const rows = reshape(frame, [1, 1, height, width * CHANNELS]);
  const inner = (width - 1) * CHANNELS;
  const [left, right] = [channelRange(rows, 0, inner), channelRange(rows, CHANNELS, CHANNELS + inner)];
  const sizes = elementwise(g, (e) => e.abs(e.sub(left, right)), { name: "frame.differences" });
  const stats = g.groupNormStats({ name: "frame.detail", x: pixels(sizes, height, 1), groups: 1, eps: EPS });
  return channelRange(reshape(stats, [1, 1, 1, 2]), 0, 1);
}

/** Changes `recovery` by what is missing of the start's liveliness: it grows while the picture stays dull, and shrinks once it is lively again. */
function recordRecovery(g: Graph, memory: FrameMemory, frame: Tensor, inverse: Tensor): void {
  const { recovery, holdLiveliness } = memory;
  const deviation = elementwise(g, (e) => e.div(1, inverse), { name: "frame.deviation" });
  const third = g.constant(new Float32Array(CHANNELS).fill(1 / CHANNELS), [1, CHANNELS]);
  const contrast = g.linear({ name: "frame.contrast", x: deviation, weight: third });
  const detail = recordRowDetail(g, frame);
  const [ofContrast, ofDetail] = [0, 1].map((i) => channelRange(holdLiveliness.tensor, i, i + 1)) as [Tensor, Tensor];
  const left = elementwise(g, (e) => e.min(e.mul(contrast, ofContrast), e.mul(detail, ofDetail)), {
    name: "frame.left",
  });
  const before = recovery.tensor;
  const missing = elementwise(g, (e) => e.max(e.sub(LIVELY, left), -MOST_EXCESS), { name: "frame.missing" });
  elementwise(g, (e) => e.relu(e.min(e.add(before, e.mul(RECOVERY_RATE, missing)), 1)), {
    ...{ name: "frame.recovery", out: before },
  });
}

/**
 * Draws each channel's mean and deviation towards those of the start's look: by one amount always, by another one as far as the picture is recovering.
 * Where neither is at work, the frame is left as it is in every bit. frame: [1,1,H,W,3] → [1,1,H,W,3].
 */
export function recordHold(g: Graph, memory: FrameMemory, frame: Tensor): Tensor {
  const { mean, inverse } = recordMoments(g, frame);
  recordRecovery(g, memory, frame, inverse);
  const { holdAmounts, holdDeviation, holdMean, recovery } = memory;
  const [always, recovering] = [0, 1].map((i) => channelRange(holdAmounts.tensor, i, i + 1)) as [Tensor, Tensor];
  const amount = elementwise(g, (e) => e.min(e.add(always, e.mul(recovering, recovery.tensor)), 1), {
    name: "frame.amount",
  });
  // (1 - a) x + a (D (x - mean) / deviation + M), as one factor and one summand a channel.
  const stretch = elementwise(g, (e) => e.mul(e.mul(holdDeviation.tensor, inverse), amount), { name: "frame.stretch" });
  const factor = elementwise(g, (e) => e.add(e.sub(1, amount), stretch), { name: "frame.factor" });
  const summand = elementwise(g, (e) => e.sub(e.mul(holdMean.tensor, amount), e.mul(mean, stretch)), {
    name: "frame.summand",
  });
  const held = elementwise(g, (e) => e.add(e.mul(tokens(frame), factor), summand), { name: "frame.held" });
  return pixels(held, frame.dims[2]!, frame.dims[3]!);
}
