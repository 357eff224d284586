import { openDevice } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { Eager } from "../src/eager";
import type { EpilogueOptions } from "../src/nn/module";

const ACTS = ["none", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu"] as const satisfies EpilogueOptions["act"][];
const devices = {
  definition: { reference: true },
  ...Object.fromEntries(["plain", "avx2", "best"].map((isa) => [isa, { isa }])),
};

test.each(Object.entries(devices))("NaN stays NaN behind every activation: %s", async (_, options) => {
  if (process.arch !== "x64" && "isa" in options && options.isa !== "best") return;
  const e = new Eager(openDevice("cpu", { threads: 1, ...options }));
  const x = e.tensor([Number.NaN, 0, Number.NaN], [1, 1, 3, 1]);
  const weight = e.tensor([1], [1, 1]);
  for (const act of ACTS)
    for (const y of [await e.ops.pointwise({ a: x, act }), await e.ops.linear({ x, weight, act })])
      expect([act, ...e.readSync(y)]).toEqual([act, Number.NaN, 0, Number.NaN]);
});
