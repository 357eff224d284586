import {
  avgPool,
  frameRange,
  type Graph,
  layerNorm,
  linear,
  pixels,
  reshape,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import { attentionProjection, packedAttention } from "./attention-block";
import type { UnetChainConfig } from "./config";

/**
 * What a frame takes over from the previous one: the means of squares of both become tokens, each square's two tokens see each other, and what the
 * frame's own token becomes grows back, bilinear, as a correction. frame, previous: [1,F,H,W,C] → the corrected frame, the same shape.
 */
export function temporalPart(w: Weights, config: UnetChainConfig) {
  const { channels, temporalChannels: width, temporalStride: stride, heads } = config;
  const embed = linear(w.at("embed"), { cin: channels, cout: width });
  const norm = layerNorm(w.at("norm"), { channels: width });
  const attend = packedAttention(w.at("attention"), { channels: width, heads });
  const project = attentionProjection(w.at("attention.out_proj"), { channels: width, heads });
  const leave = linear(w.at("correct"), { cin: width, cout: channels });
  const mean = avgPool({ kernel: [1, stride, stride], name: `${w.path}.mean` });
  return (g: Graph, frame: Tensor, previous: Tensor): Tensor => {
    const [, count, height, width_] = frame.dims as [number, number, number, number, number];
    const [rows, columns] = [height / stride, width_ / stride];
    const both = g.empty([1, 2, count * rows * columns, width]);
    for (const [i, x] of [frame, previous].entries())
      embed(g, reshape(mean(g, x), [1, 1, count * rows * columns, channels]), { out: frameRange(both, i, i + 1) });
    const seen = attend(g, norm(g, both), "time");
    const token = project(g, frameRange(seen, 0, 1), { residual: frameRange(both, 0, 1) });
    const small = pixels(reshape(leave(g, token), [1, count, rows * columns, channels]), rows, columns);
    const x = g.resize({ name: `${w.path}.bilinear`, x: small, height, width: width_, mode: "bilinear" });
    const y = pixels(g.pointwise({ name: `${w.path}.corrected`, a: tokens(frame), b: tokens(x) }), height, width_);
    g.tap(w.path, y);
    return y;
  };
}
