import type { Graph } from "../graph";
import type { PausableFunction } from "../pausable";
import type { Tensor } from "../tensor";

/** A forward function made from weights and a configuration; calling it records rows and is otherwise pure. */
export type Module<Args extends readonly unknown[] = [x: Tensor], Result = Tensor> = (
  g: Graph,
  ...args: Args
) => Result;

/** A module of many rows whose recording can pause: called, it records them at once; by `inPieces` block by block. */
export type PausableModule<Args extends readonly unknown[] = [x: Tensor], Result = Tensor> = PausableFunction<
  [g: Graph, ...args: Args],
  Result
>;

/** What may be fused behind a matrix product: see the contract's epilogue. */
export interface EpilogueOptions {
  /** [1|B, 1|F, K], added before the activation. */
  frameBias?: Tensor | undefined;
  /** Added after the activation, times residualScale. */
  residual?: Tensor | undefined;
  residual2?: Tensor | undefined;
  act?: "none" | "silu" | "gelu" | "gelu_tanh" | "quick_gelu" | "relu" | undefined;
  outScale?: number | undefined;
  residualScale?: number | undefined;
  residual2Scale?: number | undefined;
  out?: Tensor | undefined;
}
