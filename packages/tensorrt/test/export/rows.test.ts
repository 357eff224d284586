import { type Graph, type Tensor, tokens } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { MAPPINGS } from "../../src/export/ops/index";
import type { FreeSize } from "../../src/export/sizes";
import { exportGraph } from "../../src/index";
import { numbers, relative, runExported, runOurs } from "../support/compare";
import { failureOf } from "../support/failure";
import { ROW_CASES } from "../support/row-cases";

describe("every row's ONNX form", () => {
  it.each(Object.keys(ROW_CASES))("%s", async (name) => {
    const { inputs, row } = ROW_CASES[name]!;
    const build = (g: Graph) => {
      const tensors = Object.fromEntries(Object.entries(inputs).map(([key, dims]) => [key, g.input(key, dims)]));
      g.output("result", row(g, tensors));
    };
    const given = Object.fromEntries(
      Object.entries(inputs).map(([key, dims], i) => [
        key,
        {
          data: numbers(
            dims.reduce((a, b) => a * b, 1),
            i + 5,
          ),
          dims,
        },
      ]),
    );
    const { result } = await runExported({ build, type: "float" }, given);
    const ours = await runOurs(build, Object.fromEntries(Object.entries(given).map(([key, { data }]) => [key, data])));
    expect(relative(result!.data, ours.result!)).toBeLessThan(2e-5);
  });
});

describe("a row without an ONNX form", () => {
  const free = (input: string, axis: number): FreeSize => ({ name: "tokens", input, axis, traced: 101, prime: 101 });
  const sequence = (g: Graph, name: string) => g.input(name, [1, 1, 101, 8]);
  const operands = (g: Graph) => ({ q: sequence(g, "q"), k: sequence(g, "k"), v: sequence(g, "v") });

  it.each([
    [
      "a causal limit over a free length",
      "fixed lengths of causal and local sequences",
      free("q", 2),
      (g: Graph) => g.attention({ name: "the.row", ...operands(g), heads: 1, scale: 1, causal: true }),
    ],
    [
      "packed sequences of a free length",
      "fixed lengths of packed sequences",
      free("q", 2),
      (g: Graph) => {
        const [cuQ, cuK] = [g.input("cuQ", [2], "i32"), g.input("cuK", [2], "i32")];
        return g.attention({ name: "the.row", ...operands(g), cuQ, cuK, heads: 1, scale: 1 });
      },
    ],
    [
      "a quantile of a clip of free size",
      "a fixed size of clips",
      free("x", 1),
      (g: Graph) => {
        const [x, prediction] = ["x", "p"].map((name) => g.input(name, [1, 101, 2, 2, 3])) as [Tensor, Tensor];
        const coefficients = g.input("c", [3, 4]);
        return g.samplerStep({ name: "the.row", x, prediction, coefficients, bounds: "threshold" });
      },
    ],
  ] as const)("%s fails the export and is named", async (_, expected, size, row) => {
    const error = await failureOf(() =>
      exportGraph({ build: (g) => g.output("y", row(g)), type: "float", free: [size] }),
    );
    expect(error.code).toBe("unsupported");
    expect(error.message).toContain("the.row");
    expect(error.message).toContain(expected);
  });

  it("fails the export where its op has no form, or its form leaves out a result", async () => {
    const { quantize } = MAPPINGS;
    const build = (g: Graph) => {
      const scales = g.empty([1, 1, 1, 1]);
      g.output("y", g.quantize({ name: "the.row", x: g.input("x", [1, 1, 4, 8]), outputs: { scales } }));
    };
    try {
      for (const [mapping, expected] of [
        [undefined, "an op with an ONNX form"],
        [() => {}, "a row without scales"],
      ] as const) {
        MAPPINGS.quantize = mapping;
        const error = await failureOf(() => exportGraph({ build, type: "float" }));
        expect(error.message).toContain("the.row");
        expect(error.message).toContain(expected);
      }
    } finally {
      MAPPINGS.quantize = quantize;
    }
  });

  it("fails where an operand cannot be traced to results", async () => {
    const build = (g: Graph) => {
      const all = g.empty([1, 4, 2, 4]);
      g.copy({ x: g.input("x", [1, 2, 2, 4]), out: { ...all, dims: [1, 2, 2, 4] } });
      g.output("y", g.copy({ name: "reader", x: all }));
    };
    const error = await failureOf(() => exportGraph({ build, type: "float" }));
    expect(error.code).toBe("unsupported");
    expect(error.message).toContain("reader");
  });

  it("reads tokens of pictures and pictures of tokens", () => {
    const build = (g: Graph) => {
      const x = g.input("x", [1, 2, 3, 4, 8]);
      g.output("y", g.copy({ x: tokens(x) }));
    };
    expect(exportGraph({ build, type: "float" }).outputs[0]!.axes).toEqual([1, 2, 12, 8]);
  });
});
