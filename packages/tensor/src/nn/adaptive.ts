import { COUNT, optional, requireArgument, TEXT } from "@vd/kernels-native";
import { elementwise } from "../elementwise";
import { channelRange, type Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { requireLayer } from "./layer";
import { linear } from "./linear";
import type { Module } from "./module";

/** Shape of the projection that adaptive norms take their scales, shifts and gates from. */
export interface ModulationConfig {
  channels: number;
  embChannels: number;
  /** How many vectors of `channels` it gives, e.g. 6 for shift, scale and gate of attention and feed-forward. */
  parts: number;
}

const MODULATION = { channels: COUNT, embChannels: COUNT, parts: COUNT };

/** The vectors that modulate a block, by one product. emb: [B,1|F,1,E] after its SiLU → as many [B,1|F,1,C] as `parts`, in the
 *  order of the checkpoint's rows. Source: huggingface/diffusers@58eb52c models/normalization.py AdaLayerNormZero. */
export function modulationVectors(w: Weights, config: ModulationConfig): Module<[emb: Tensor], Tensor[]> {
  requireLayer("modulationVectors", w, config, MODULATION);
  const { channels, embChannels, parts } = config;
  const project = linear(w, { cin: embChannels, cout: parts * channels });
  return (g, emb) => {
    const all = project(g, emb);
    return Array.from({ length: parts }, (_, i) => channelRange(all, i * channels, (i + 1) * channels));
  };
}

/** Operands of a gated residual connection. */
export interface GatedResidualCall {
  /** [B,F,S,C]. */
  residual: Tensor;
  /** [1|B,1|F,1|S,C]. */
  gate: Tensor;
  /** Result of attention or feed-forward, [B,F,S,C]. */
  branch: Tensor;
  out?: Tensor | undefined;
}

/** residual + gate · branch in one pass over memory: how blocks with adaptive norms add what attention and feed-forward gave.
 *  Source: https://arxiv.org/abs/2212.09748 (adaLN-Zero). */
export function gatedResidual(name?: string): Module<[call: GatedResidualCall]> {
  requireArgument("gatedResidual name", name, optional(TEXT));
  return (g, { residual, gate, branch, out }) =>
    elementwise(g, (e) => e.add(residual, e.mul(gate, branch)), { name, out });
}
