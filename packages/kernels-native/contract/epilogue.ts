import { float, oneOf, type Rule, type TensorSpec } from "./define-op";
import { FLOATS } from "./dtype";
import { attr, choose, div, type Expr, eq, ge, mod, or } from "./expr";

/** Activation functions; `gelu` is the exact one (erf), `relu` keeps NaN. The gated ones, last, halve the channels: `geglu` is first half ×
 *  gelu(second half), `swiglu` first half × silu(second half). */
export const ACTIVATIONS = ["none", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu", "geglu", "swiglu"] as const;

/** An activation that keeps the number of channels. */
export const POINTWISE_ACTIVATIONS = ["none", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu"] as const;

/** The attributes of the epilogue that conv and linear share:
 *  `y = outScale · act(product + bias + frameBias) + residualScale · residual + residual2Scale · residual2`. */
export const epilogueAttrs = {
  act: oneOf("Activation", ACTIVATIONS, "activation after the biases", "none"),
  outScale: float("factor of the activated value", 1),
  residualScale: float("factor of `residual`", 1),
  residual2Scale: float("factor of `residual2`", 1),
};

/** The optional operands of the epilogue, for outputs of `dims` and biases over `rows` output rows of the weight. */
export function epilogueInputs(dims: TensorSpec["dims"], rows: string, frames: string) {
  return {
    bias: { dims: [rows], dtype: FLOATS, optional: true, constant: true, doc: "added per output channel" },
    frameBias: {
      dims: [{ oneOr: "B" }, { oneOr: frames }, rows],
      dtype: FLOATS,
      optional: true,
      doc: "added per clip, frame and output channel",
    },
    residual: { dims, dtype: FLOATS, optional: true, doc: "added after the activation" },
    residual2: { dims, dtype: FLOATS, optional: true, doc: "a second one, e.g. the other branch of a blend" },
  } as const satisfies Record<string, TensorSpec>;
}

/** 1 where the attribute `act` is a gated activation, else 0. */
export const isGated: Expr = ge(attr("act"), ACTIVATIONS.indexOf("geglu"));

/** Channels of a result whose product has N columns: a gated activation halves them. */
export const gatedColumns: Expr = choose(isGated, div("N", 2), "N");

/** For products of N columns whose activation may halve them. */
export const halvesWhereGated: Rule = {
  where: "weight",
  test: or(eq(isGated, 0), eq(mod("N", 2), 0)),
  expected: "an even number of rows for geglu and swiglu",
  got: "N",
};

/** For ops whose activation cannot halve the channels. */
export const keepsChannels: Rule = {
  where: "act",
  test: eq(isGated, 0),
  expected: "an activation that keeps the number of channels",
  got: attr("act"),
};

/** The attribute `name` divides `value`. */
export const divides = (name: string, value: Expr): Rule => ({
  where: name,
  test: eq(mod(value, attr(name)), 0),
  expected: "a divisor of the channels",
  got: attr(name),
});
