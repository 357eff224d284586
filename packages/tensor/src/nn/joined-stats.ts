import { elementwise } from "../elementwise";
import type { Graph } from "../graph";
import { channelRange, requireTensor, reshape, type Tensor } from "../tensor";

/**
 * Records the statistics of a norm over all frames of a clip from those of its frames, so that the same bits come out whether the frames
 * were measured at once or in parts: the mean of the means; the mean of the variances and the variance of the means.
 * frames: f32[B,F,groups,2] of `group_norm_stats` with `eps`, which is written over → f32[B,1,groups,2].
 *
 * @throws VdError `attr` for what is no tensor
 */
export function joinedStatistics(g: Graph, name: string, frames: Tensor, eps: number): Tensor {
  requireTensor("joinedStatistics frames", frames);
  const [batch, numFrames, groups] = frames.dims as [number, number, number];
  const spread = channelRange(frames, 1, 2);
  const variance = { name: `${name}.variances`, out: spread };
  elementwise(g, (e) => e.max(e.sub(e.div(1, e.square(spread)), eps), 0), variance);
  // Each group of a frame as a channel, whose mean and variance are known.
  const x = channelRange(reshape(frames, [batch, numFrames, 1, 1, 2 * groups]), 0, groups);
  return g.groupNormStats({ name: `${name}.frames`, x, moments: frames, groups, eps, joinFrames: true });
}
