import { type Graph, tokens } from "@vd/tensor";
import { describe, expect, it } from "vitest";
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
  const q = (g: Graph) => g.input("q", [1, 1, 4, 8]);
  it.each([
    [
      "a window that leaves a query without keys",
      (g: Graph) =>
        g.attention({ name: "the.row", q: q(g), k: one(g), v: one(g), heads: 1, scale: 1, window: [1, 0, 0] }),
    ],
    [
      "a window over packed sequences",
      (g: Graph) => {
        const [cuQ, cuK] = [g.input("cuQ", [2], "i32"), g.input("cuK", [2], "i32")];
        const rows = { name: "the.row", q: q(g), k: q2(g), v: q2(g), cuQ, cuK };
        return g.attention({ ...rows, heads: 1, scale: 1, window: [2, 0, 0] });
      },
    ],
    [
      "gradients",
      (g: Graph) => {
        const rows = { q: q(g), k: q2(g), v: q2(g), y: q2(g), dy: q2(g), lse: g.empty([1, 1, 1, 4]) };
        return g.attentionBackward({ name: "the.row", ...rows, heads: 1, scale: 1 });
      },
    ],
    [
      "statistics alone",
      (g: Graph) => g.groupNormStats({ name: "the.row", x: g.input("x", [1, 1, 2, 2, 4]), groups: 2, eps: 1 }),
    ],
  ] as const)("%s fails the export and is named", async (_, row) => {
    const error = await failureOf(() => exportGraph({ build: (g) => g.output("y", row(g)), type: "float" }));
    expect(error.code).toBe("unsupported");
    expect(error.message).toContain("the.row");
  });
  const q2 = (g: Graph) => g.empty([1, 1, 4, 8]);
  const one = (g: Graph) => g.empty([1, 1, 1, 8]);

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
