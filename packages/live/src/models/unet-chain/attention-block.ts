import {
  channelRange,
  type EpilogueOptions,
  type Graph,
  layerNorm,
  linear,
  type Module,
  pixels,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import { type HeadsShape, headChannels, paddedColumns, paddedRows } from "./padded-heads";

/**
 * Attention whose queries, keys and values are one product, as its weights are stored. x: [B,F,S,C] → [B,F,S,headChannels] before the last
 * product, which {@link attentionProjection} is, over the tokens of a frame or over the frames of a token. Source: torch.nn.MultiheadAttention.
 */
export function packedAttention(w: Weights, shape: HeadsShape): Module<[x: Tensor, axis: "space" | "time"]> {
  const { channels, heads } = shape;
  const weight = w.tensor("in_proj_weight", [3 * channels, channels]);
  const bias = w.tensor("in_proj_bias", [3 * channels]);
  const rows = paddedRows(weight, bias, shape);
  const width = headChannels(shape);
  const scale = 1 / Math.sqrt(channels / heads);
  return (g, x, axis) => {
    const qkv = g.linear({ name: `${w.path}.in_proj`, x, ...rows() });
    const part = (i: number) => channelRange(qkv, i * width, (i + 1) * width);
    const [q, k, v] = [part(0), part(1), part(2)];
    return g.attention({ name: `${w.path}.attention`, q, k, v, axis, heads, scale });
  };
}

/** The last product of {@link packedAttention}, whose weights stand in a place of their own. x: [B,F,S,headChannels] → [B,F,S,C]. */
export function attentionProjection(w: Weights, shape: HeadsShape): Module<[x: Tensor, epilogue?: EpilogueOptions]> {
  const { channels } = shape;
  const columns = paddedColumns(w.tensor("weight", [channels, channels]), shape);
  const bias = w.tensor("bias", [channels]);
  return (g, x, epilogue = {}) => g.linear({ name: w.path, x, weight: columns(), bias, ...epilogue });
}

/** LayerNorm and attention of a picture's pixels to each other, then LayerNorm, linear, GELU, linear; each added to what came in.
 *  x: [B,F,H,W,C] → the same shape, in `out` if it is given. */
export function attentionBlock(
  w: Weights,
  { channels, heads, inner }: HeadsShape & { inner: number },
): Module<[x: Tensor, out?: Tensor]> {
  const [norm, feedNorm] = [layerNorm(w.at("norm"), { channels }), layerNorm(w.at("ff.norm"), { channels })];
  const attend = packedAttention(w.at("attention"), { channels, heads });
  const project = attentionProjection(w.at("attention.out_proj"), { channels, heads });
  const widen = linear(w.at("ff.0"), { cin: channels, cout: inner });
  const narrow = linear(w.at("ff.1"), { cin: inner, cout: channels });
  return (g: Graph, x, out) => {
    const residual = tokens(x);
    const seen = project(g, attend(g, norm(g, residual), "space"), { residual });
    const wide = widen(g, feedNorm(g, seen), { act: "gelu" });
    const y = narrow(g, wide, { residual: seen, out: out && tokens(out) });
    const shaped = pixels(y, x.dims[2]!, x.dims[3]!);
    g.tap(w.path, shaped);
    return shaped;
  };
}
