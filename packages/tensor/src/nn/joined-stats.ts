import { elementwise } from "../elementwise";
import type { Graph } from "../graph";
import { channelRange, reshape, type Tensor } from "../tensor";

/** Added to the variance of the frames' means, which may all be equal. Far below what float32 tells from 0 beside a norm's own epsilon. */
const TINY = 1e-20;

/**
 * Records the statistics of a norm over all frames of a clip from those of its frames, so that the same bits come out whether the frames
 * were measured at once or in parts: the mean of the means; the mean of the variances and the variance of the means.
 * frames: f32[B,F,groups,2] of `group_norm_stats` with `eps`, which is written over → f32[B,1,groups,2].
 */
export function joinedStatistics(g: Graph, name: string, frames: Tensor, eps: number): Tensor {
  const [batch, numFrames, groups] = frames.dims as [number, number, number];
  const spread = channelRange(frames, 1, 2);
  const variance = { name: `${name}.variances`, out: spread };
  elementwise(g, (e) => e.max(e.sub(e.div(1, e.square(spread)), eps), 0), variance);
  const pairs = reshape(frames, [batch, numFrames, 1, 1, 2 * groups]);
  const all = { name: `${name}.frames`, x: pairs, groups: 2 * groups, eps: TINY, joinFrames: true };
  // Of each group: mean and 1/deviation of the means, mean and 1/deviation of the variances.
  const joined = reshape(g.groupNormStats(all), [batch, 1, groups, 4]);
  const [mean, sharpness, within] = [0, 1, 2].map((i) => channelRange(joined, i, i + 1)) as [Tensor, Tensor, Tensor];
  const stats = g.empty([batch, 1, groups, 2], "f32");
  g.copy({ name: `${name}.mean`, x: mean, out: channelRange(stats, 0, 1) });
  const deviation = { name: `${name}.deviation`, out: channelRange(stats, 1, 2) };
  elementwise(g, (e) => e.rsqrt(e.add(e.add(within, e.div(1, e.square(sharpness))), eps)), deviation);
  return stats;
}
