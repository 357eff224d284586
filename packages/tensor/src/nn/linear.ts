import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { LINEAR, requireLayer } from "./layer";
import type { EpilogueOptions, Module } from "./module";

/** Shape of a linear layer. */
export interface LinearConfig {
  cin: number;
  cout: number;
  /** Whether the checkpoint has a bias; default true. */
  bias?: boolean;
}

/** A matrix product with bias. x: [B,F,S,cin] → [B,F,S,cout]. Source: torch.nn.Linear. */
export function linear(w: Weights, config: LinearConfig): Module<[x: Tensor, epilogue?: EpilogueOptions]> {
  requireLayer("linear", w, config, LINEAR);
  const { cin, cout, bias = true } = config;
  const weight = w.tensor("weight", [cout, cin]);
  const shift = bias ? w.tensor("bias", [cout]) : undefined;
  return (g, x, epilogue = {}) => g.linear({ name: w.path, x, weight, bias: shift, ...epilogue });
}
