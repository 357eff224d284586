import type { TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";

const perToken = [{ oneOr: "B" }, { oneOr: "F" }, { oneOr: "S" }, "C"] as const satisfies TensorSpec["dims"];

/** The optional operands that modulate a normalised token n, as adaptive norms do: y = n · (1 + scale) + shift. The sizes of
 *  both are those of x or 1 in clips, frames and tokens, so that a range of a linear's channels, [B,1,1,C], fits. Source:
 *  https://arxiv.org/abs/2212.09748 (adaLN). */
export const modulationInputs = {
  scale: { dims: perToken, dtype: FLOATS, optional: true, doc: "modulates: the normalised token times 1 + scale" },
  shift: { dims: perToken, dtype: FLOATS, optional: true, doc: "added last" },
} as const satisfies Record<string, TensorSpec>;
