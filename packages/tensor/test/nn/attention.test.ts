import type { Plain } from "@vd/kernels-native/references";
import { describe, expect, test } from "vitest";
import { crossAttention, oneTokenCrossAttention, selfAttention } from "../../src/nn/index";
import { failure } from "../support/failure";
import { channels, expectNear, op, random, run } from "../support/run-module";
import { smallWeights } from "../support/small-weights";

const C = 12;
const HEADS = 3;
const square = { "m.to_q.weight": [C, C], "m.to_out.0.weight": [C, C], "m.to_out.0.bias": [C] };

type Weights = Readonly<Record<string, Plain>>;

const project = (x: Plain, w: Weights, name: string, residual?: Plain) =>
  op("linear", { x, weight: w[`m.${name}.weight`], bias: w[`m.${name}.bias`], residual });

/** Attention by its definition, projections included. */
function attended(
  x: Plain,
  context: Plain,
  w: Weights,
  axis: "space" | "time",
  names = ["to_q", "to_k", "to_v", "to_out.0"],
): Plain {
  const [q, k, v] = [project(x, w, names[0]!), project(context, w, names[1]!), project(context, w, names[2]!)];
  const y = op("attention", { q, k, v }, { axis, heads: HEADS, scale: 1 / Math.sqrt(C / HEADS), causal: false });
  return project(y, w, names[3]!);
}

describe("self-attention", () => {
  const shapes = { ...square, "m.to_k.weight": [C, C], "m.to_v.weight": [C, C] };

  test.each(["space", "time"] as const)("over %s", async (axis) => {
    const { weights, plain } = smallWeights(shapes);
    const x = random("x", [2, 4, 5, C]);
    const layer = selfAttention(weights.at("m"), { channels: C, heads: HEADS });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!, axis)), attended(x, x, plain, axis));
    weights.expectAllUsed();
  });

  test("with biases, other names and a residual", async () => {
    const names = ["query", "key", "value", "proj"];
    const all = names.flatMap((name) => [
      [`m.${name}.weight`, [C, C]],
      [`m.${name}.bias`, [C]],
    ]);
    const { weights, plain } = smallWeights(Object.fromEntries(all));
    const [x, residual] = [random("x", [1, 2, 7, C]), random("r", [1, 2, 7, C])];
    const config = {
      channels: C,
      heads: HEADS,
      qkvBias: true,
      names: { q: "query", k: "key", v: "value", out: "proj" },
    };
    const layer = selfAttention(weights.at("m"), config);
    const got = await run({ x, residual }, (g, t) => layer(g, t.x!, "space", { residual: t.residual }));
    const wanted = attended(x, x, plain, "space", names);
    expectNear(got, { ...wanted, data: wanted.data.map((value, i) => value + residual.data[i]!) });
    weights.expectAllUsed();
  });

  test("puts q, k and v into one product", async () => {
    const { weights, plain } = smallWeights(shapes);
    const x = random("x", [1, 1, 4, C]);
    const layer = selfAttention(weights.at("m"), { channels: C, heads: HEADS });
    const qkv = await run({ x }, (g, t) => {
      layer(g, t.x!, "space");
      expect(g.rows.map(({ name }) => name)).toEqual(["m.qkv", "m.attention", "m.to_out.0"]);
      return g.rows[0]!.outputs[0]!;
    });
    expectNear(channels(qkv, C, 2 * C), project(x, plain, "to_k"));
  });
});

describe("cross-attention", () => {
  const D = 7;
  const shapes = { ...square, "m.to_k.weight": [C, D], "m.to_v.weight": [C, D] };
  const config = { channels: C, heads: HEADS, contextChannels: D };
  const { weights, plain } = smallWeights(shapes);

  test.each([1, 3])("to a context of %i frames", async (frames) => {
    const [x, context] = [random("x", [2, 3, 5, C]), random("context", [2, frames, 4, D])];
    const layer = crossAttention(weights.at("m"), config);
    const got = await run({ x, context }, (g, t) => layer(g, t.x!, t.context!));
    expectNear(got, attended(x, context, plain, "space"));
    weights.expectAllUsed();
  });

  test("to one token is the same vector for every query", async () => {
    const [x, context] = [random("x", [2, 1, 5, C]), random("context", [2, 1, 1, D])];
    const full = crossAttention(weights.at("m"), config);
    const folded = oneTokenCrossAttention(weights.at("m"), config);
    const vectors = await run({ context }, (g, t) => folded(g, t.context!));
    expect(vectors.dims).toEqual([2, 1, 1, C]);
    const all = await run({ x, context }, (g, t) => full(g, t.x!, t.context!));
    const repeated = {
      dims: all.dims,
      data: all.data.map((_, i) => vectors.data[Math.floor(i / (5 * C)) * C + (i % C)]!),
    };
    expectNear(all, repeated);
  });

  test("to one token still wants all four projections", () => {
    const { "m.to_k.weight": _, ...rest } = shapes;
    const error = failure(() => oneTokenCrossAttention(smallWeights(rest).weights.at("m"), config));
    expect(error.where).toBe("small] [m.to_k.weight");
  });
});
