import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Graph } from "../../src/graph";
import { layoutGraph } from "../../src/plan/layout";
import { channelRange, type Tensor } from "../../src/tensor";
import { rowKey } from "../../src/tune/row-key";

/** The key of the last row that `build` records. */
function keyOf(build: (g: Graph) => void): string {
  const { graph } = layoutGraph(build, { dtype: "f16" });
  return rowKey(graph.rows.at(-1)!);
}

const weight = (g: Graph, rows: number, columns: number) =>
  g.constant(new Float32Array(rows * columns), [rows, columns]);

/** A linear row with some options. */
const linear =
  (options: Partial<Parameters<Graph["linear"]>[0]> = {}, tokens = 64) =>
  (g: Graph) =>
    g.linear({ x: g.input("x", [1, 2, tokens, 16]), weight: weight(g, 32, 16), ...options });

describe("the key of a row", () => {
  test("is the op, its operands and the attributes that are not the default", () => {
    expect(keyOf(linear())).toBe("linear x:f16[1,2,64,16] weight:f32[32,16] y:f16[1,2,64,32]");
    expect(keyOf(linear({ act: "silu" }))).toBe("linear x:f16[1,2,64,16] weight:f32[32,16] y:f16[1,2,64,32] act=silu");
  });

  test("names lists of numbers, and numbers without a default", () => {
    const filter = (g: Graph) => g.constant(new Float32Array(9 * 64), [8, 8, 1, 3, 3]);
    const conv = keyOf((g) =>
      g.conv({ x: g.input("x", [1, 1, 8, 8, 8]), weight: filter(g), padding: [0, 0, 1, 1, 1, 1] }),
    );
    expect(conv).toBe("conv x:f16[1,1,8,8,8] weight:f32[8,8,1,3,3] y:f16[1,1,8,8,8] padding=0,0,1,1,1,1");
    const attention = keyOf((g) => {
      const q = g.input("q", [1, 1, 8, 16]);
      g.attention({ q, k: q, v: q, heads: 2, scale: 0.5, causal: true });
    });
    expect(attention).toMatch(/ y:f16\[1,1,8,16\] heads=2 causal=1$/);
  });

  test("does not depend on names, on values of floats, on where weights lie", () => {
    const other = keyOf((g) => {
      g.input("other", [1, 2, 64, 16]);
      const all = weight(g, 33, 16);
      const shifted: Tensor = { ...all, dims: [32, 16], byteOffset: 4 };
      g.linear({ name: "elsewhere", x: g.input("x", [1, 2, 64, 16]), weight: shifted, outScale: 0.5 });
    });
    expect(other).toBe(keyOf(linear()));
  });

  test("tells views apart: pitch, alignment, operands that are there", () => {
    const ofView = (begin: number) =>
      keyOf((g) => {
        const x = channelRange(g.input("x", [1, 2, 64, 32]), begin, begin + 16);
        g.linear({ x, weight: weight(g, 32, 16) });
      });
    expect(ofView(0)).toContain("x:f16[1,2,64,16]/32 ");
    expect(ofView(8)).toBe(ofView(0));
    expect(ofView(4)).toContain("x:f16[1,2,64,16]/32! ");
    const withBias = keyOf((g) => linear({ bias: g.constant(new Float32Array(32), [32]) })(g));
    expect(withBias).toContain(" bias:f32[32] ");
  });

  test("is equal exactly where the shapes are", () => {
    const sizes = fc.record({ tokens: fc.integer({ min: 1, max: 40 }), isSilu: fc.boolean() });
    fc.assert(
      fc.property(sizes, sizes, (a, b) => {
        const [left, right] = [a, b].map((c) => keyOf(linear(c.isSilu ? { act: "silu" } : {}, c.tokens)));
        expect(left === right).toBe(a.tokens === b.tokens && a.isSilu === b.isSilu);
      }),
      { numRuns: 50, seed: 7 },
    );
  });
});
