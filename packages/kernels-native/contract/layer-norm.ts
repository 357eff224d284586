import type { TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";
import { modulationInputs } from "./modulation";

/** The weights of a norm of tokens that is part of another op. */
export const tokenNormInputs = {
  normWeight: {
    dims: ["C"],
    dtype: FLOATS,
    optional: true,
    constant: true,
    doc: "learned factor of the normalised channels; default 1",
  },
  normBias: {
    dims: ["C"],
    dtype: FLOATS,
    optional: true,
    constant: true,
    doc: "learned summand of the normalised channels; default 0",
  },
} as const satisfies Record<string, TensorSpec>;

/** The operands of a norm of tokens over their channels, and of what may follow it. */
export const layerNormInputs = {
  x: { dims: ["B", "F", "S", "C"], dtype: FLOATS, doc: "tokens" },
  weight: { dims: ["C"], dtype: FLOATS, optional: true, constant: true, doc: "learned factor; default 1" },
  bias: { dims: ["C"], dtype: FLOATS, optional: true, constant: true, doc: "learned summand; default 0" },
  ...modulationInputs,
} as const satisfies Record<string, TensorSpec>;
