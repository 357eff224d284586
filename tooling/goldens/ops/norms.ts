import { planesOf } from "./convolutions";
import type { OpCase, OpResult } from "./op-case";

/** group_norm with or without SiLU; statistics go over all axes behind the channels, frames included. */
export async function groupNormalisation(current: OpCase): Promise<OpResult> {
  const groups = Number(/(\d+)\s+groups/i.exec(current.text)?.[1] ?? current.number("groups", 32));
  const silu = /silu/i.test(current.text) || /silu/.test(current.family);
  const y = await current.eager.ops.groupNorm({
    name: current.name,
    x: current.pixels("x"),
    weight: current.weight("w"),
    bias: current.weight("b"),
    groups,
    eps: current.number("eps", 1e-5),
    act: silu ? "silu" : "none",
    joinFrames: true,
  });
  return planesOf(current, y);
}

/** layer_norm over the last dimension. */
export async function layerNormalisation(current: OpCase): Promise<OpResult> {
  const [weight, bias] = [current.weight("w"), current.weight("b")];
  const eps = current.number("eps", 1e-5);
  const y = await current.eager.ops.layerNorm({ name: current.name, x: current.tokens("x"), weight, bias, eps });
  return { values: current.eager.readSync(y) };
}

/** linear, then the first half of the columns times gelu of the second. */
export async function gatedLinear(current: OpCase): Promise<OpResult> {
  const bias = current.has("b") ? current.weight("b") : undefined;
  const options = { name: current.name, x: current.tokens("x"), weight: current.weight("w"), bias };
  return { values: current.eager.readSync(await current.eager.ops.linear({ ...options, act: "geglu" })) };
}

const ACTIVATIONS = ["gelu_tanh", "quick_gelu", "gelu", "silu"] as const;

/** A plain activation, named by the case or its description. */
export async function activation(current: OpCase): Promise<OpResult> {
  const words = `${current.variant} ${current.text}`.toLowerCase();
  const act = ACTIVATIONS.find((name) => words.includes(name)) ?? current.refuse("an activation that is not known");
  const a = current.tokens("x");
  return { values: current.eager.readSync(await current.eager.ops.pointwise({ name: current.name, a, act })) };
}
