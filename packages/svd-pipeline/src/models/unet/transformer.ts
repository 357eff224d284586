import {
  crossAttention,
  embedding,
  feedForward,
  type Graph,
  groupNorm,
  layerNorm,
  linear,
  type Module,
  oneTokenCrossAttention,
  type Pausable,
  pixels,
  reshape,
  type SharedChannels,
  selfAttention,
  sigmoid,
  slotBias,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import type { Cross } from "./conditioning";

/** Shape of a spatio-temporal transformer. */
export interface TransformerConfig {
  channels: number;
  heads: number;
  numLayers: number;
  crossAttentionDim: number;
}

/** Where a UNet collects what its transformers need once per generation. */
export interface SharedConditioning {
  /** Cross-attention to one token: [B,1,1,width] from the context [B,1,1,D]. */
  cross: SharedChannels<Tensor>;
  /** Frame position embeddings: [1,F,1,width] from the number of frames. */
  frames: SharedChannels<number>;
}

/** The conditioning tensors during a call. */
export interface Conditioning {
  cross: Cross;
  /** [1,F,1,width]. */
  frames: Tensor;
}

/** How a block attends to the picture: either a bias of the preceding projection, or an attention of its own. */
interface CrossPart {
  bias(conditioning: Conditioning): Tensor | undefined;
  attend(g: Graph, x: Tensor, conditioning: Conditioning): Tensor;
}

function crossPart(w: Weights, config: TransformerConfig, shared: SharedConditioning): CrossPart {
  const attention = { channels: config.channels, heads: config.heads, contextChannels: config.crossAttentionDim };
  const scope = w.at("attn2");
  const folded = oneTokenCrossAttention(scope, attention);
  const slot = shared.cross.reserve(config.channels, (g, context, out) => folded(g, context, { out }));
  const norm = layerNorm(w.at("norm2"), { channels: config.channels });
  let full: ReturnType<typeof crossAttention> | undefined;
  return {
    bias: ({ cross }) => (cross.kind === "folded" ? slotBias(cross.vectors, slot) : undefined),
    attend(g, x, { cross }) {
      if (cross.kind === "folded") return x;
      full ??= crossAttention(scope, attention);
      return full(g, norm(g, x), cross.context, { residual: x });
    },
  };
}

/** Self-attention within frames, cross-attention, feed-forward, plus frameBias [1,F,C] if given. x: [B,F,S,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c models/attention.py BasicTransformerBlock. */
function spatialBlock(
  w: Weights,
  config: TransformerConfig,
  shared: SharedConditioning,
): Module<[x: Tensor, c: Conditioning, frameBias?: Tensor]> {
  const { channels, heads } = config;
  const norm1 = layerNorm(w.at("norm1"), { channels });
  const attention = selfAttention(w.at("attn1"), { channels, heads });
  const cross = crossPart(w, config, shared);
  const norm3 = layerNorm(w.at("norm3"), { channels });
  const feed = feedForward(w.at("ff"), { channels });
  return (g, x, conditioning, frameBias) => {
    const attended = attention(g, norm1(g, x), "space", { residual: x, frameBias: cross.bias(conditioning) });
    const h = cross.attend(g, attended, conditioning);
    const y = feed(g, norm3(g, h), { residual: h, frameBias });
    // Each layer calls the norm that it reads, which a graph may then record as one op with it.
    g.tap(w.path, frameBias ? () => feed(g, norm3(g, h), { residual: h }) : y);
    return y;
  };
}

/** What a temporal block's results are blended with. */
interface Blend {
  /** [B,F,S,C]. */
  spatial: Tensor;
  /** The share of `spatial`; the block has the rest. */
  alpha: number;
  /** [1,F,C], added to the block's results before they are blended. */
  frameBias?: Tensor | undefined;
}

/** Feed-forward, attention over frames, cross-attention, feed-forward, blended with `spatial`.
 *  x: [B,F,S,C] → α · spatial + (1 − α) · (block(x) + frameBias).
 *  Source: huggingface/diffusers@58eb52c models/attention.py TemporalBasicTransformerBlock. */
function temporalBlock(
  w: Weights,
  config: TransformerConfig,
  shared: SharedConditioning,
): Module<[x: Tensor, blend: Blend, c: Conditioning]> {
  const { channels, heads } = config;
  const normIn = layerNorm(w.at("norm_in"), { channels });
  const feedIn = feedForward(w.at("ff_in"), { channels });
  const norm1 = layerNorm(w.at("norm1"), { channels });
  const attention = selfAttention(w.at("attn1"), { channels, heads });
  const cross = crossPart(w, config, shared);
  const norm3 = layerNorm(w.at("norm3"), { channels });
  const feed = feedForward(w.at("ff"), { channels });
  return (g, x, { spatial, alpha, frameBias }, conditioning) => {
    const [b, f, s, c] = x.dims as [number, number, number, number];
    const h = feedIn(g, normIn(g, x), { residual: x });
    const attended = attention(g, norm1(g, h), "time", { residual: h, frameBias: cross.bias(conditioning) });
    // Every pixel of every frame sees the same context, so frames and pixels are one row of tokens.
    const crossed = reshape(cross.attend(g, reshape(attended, [b, 1, f * s, c]), conditioning), [b, f, s, c]);
    g.tap(w.path, () => feed(g, norm3(g, crossed), { residual: crossed }));
    const beta = 1 - alpha;
    return feed(g, norm3(g, crossed), {
      frameBias,
      outScale: beta,
      residual: crossed,
      residualScale: beta,
      residual2: spatial,
      residual2Scale: alpha,
    });
  };
}

/** The embedding of the frame's number, times `factor`: [1,F,1,C]. */
function framePositions(w: Weights, channels: number, factor = 1): Module<[numFrames: number, out: Tensor]> {
  const embed = embedding(w, { cin: channels, inner: 4 * channels, cout: channels });
  return (g, numFrames, out) => {
    const numbers = g.constant(
      Float32Array.from({ length: numFrames }, (_, i) => i),
      [1, numFrames],
    );
    const waves = g.timestepEmbedding({
      name: `${w.path}.sinusoid`,
      t: numbers,
      width: channels,
      out: g.empty([1, numFrames, channels]),
    });
    const y = embed(g, reshape(waves, [1, numFrames, 1, channels]), { out, outScale: factor });
    if (factor === 1) g.tap(w.path, y);
    return y;
  };
}

/** The largest share α of a spatial block whose frame positions are multiplied by α / (1 − α): those of up to 256 stay in float16's range. */
const LARGEST_SHARE = 255 / 256;

/** Adds frame positions p to what a spatial block gives: returns x + p, which the temporal block reads, and what that is blended with.
 *  spatialBlock: has the block add a bias at its end. */
type AddPositions = (
  g: Graph,
  conditioning: Conditioning,
  spatialBlock: (frameBias?: Tensor) => Tensor,
) => [placed: Tensor, blend: Blend];

/** Only x + p is computed: α · x + (1 − α) · t = α · (x + p) + (1 − α) · (t − p · α / (1 − α)). */
function addPositions(w: Weights, channels: number, alpha: number, shared: SharedConditioning): AddPositions {
  const scope = w.at("time_pos_embed");
  const positions = shared.frames.reserve(channels, framePositions(scope, channels));
  if (alpha > LARGEST_SHARE) {
    return (g, { frames }, spatialBlock) => {
      const spatial = spatialBlock();
      const frameBias = slotBias(frames, positions);
      return [g.pointwise({ name: `${w.path}.add_position`, a: spatial, frameBias }), { spatial, alpha }];
    };
  }
  const removed = shared.frames.reserve(channels, framePositions(scope, channels, -alpha / (1 - alpha)));
  return (_, { frames }, spatialBlock) => {
    const spatial = spatialBlock(slotBias(frames, positions));
    return [spatial, { spatial, alpha, frameBias: slotBias(frames, removed) }];
  };
}

/** Group norm, projection, layers of a spatial and a temporal block, projection, its input added.
 *  Pauses between the blocks. x: [B,F,H,W,C] → the same shape.
 *  Source: huggingface/diffusers@58eb52c models/transformers/transformer_temporal.py TransformerSpatioTemporalModel. */
export function spatioTemporalTransformer(
  w: Weights,
  config: TransformerConfig,
  shared: SharedConditioning,
): (g: Graph, x: Tensor, conditioning: Conditioning) => Pausable<Tensor> {
  const { channels, numLayers } = config;
  const norm = groupNorm(w.at("norm"), { channels, eps: 1e-6 });
  const projectIn = linear(w.at("proj_in"), { cin: channels, cout: channels });
  const layers = Array.from({ length: numLayers }, (_, i) => ({
    spatial: spatialBlock(w.at("transformer_blocks").at(i), config, shared),
    temporal: temporalBlock(w.at("temporal_transformer_blocks").at(i), config, shared),
  }));
  const place = addPositions(w, channels, sigmoid(w.at("time_mixer").scalar("mix_factor")), shared);
  const projectOut = linear(w.at("proj_out"), { cin: channels, cout: channels });
  return function* (g, x, conditioning) {
    let h = projectIn(g, tokens(norm(g, x)));
    for (const { spatial, temporal } of layers) {
      const [placed, blend] = place(g, conditioning, (frameBias) => spatial(g, h, conditioning, frameBias));
      yield;
      h = temporal(g, placed, blend, conditioning);
      yield;
    }
    const y = pixels(projectOut(g, h, { residual: tokens(x) }), x.dims[2]!, x.dims[3]!);
    g.tap(w.path, y);
    return y;
  };
}
