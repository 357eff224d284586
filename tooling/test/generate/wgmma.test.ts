import { expect, test } from "vitest";
import { files } from "../../generate/wgmma/files";

/** How wide instructions' operands are along the sum, in elements of a type, and what their sums are. */
const TYPES: Readonly<Record<string, { depth: number; constraint: string }>> = {
  __half: { depth: 16, constraint: "+f" },
  __nv_bfloat16: { depth: 16, constraint: "+f" },
  __nv_fp8_e4m3: { depth: 32, constraint: "+f" },
  int8_t: { depth: 32, constraint: "+r" },
  float: { depth: 8, constraint: "+f" },
};

test("every wgmma function numbers its operands after its accumulators", () => {
  const [[path, text]] = files() as [readonly [string, string]];
  expect(path.endsWith("device/ptx/wgmma.cuh")).toBe(true);
  const products = text.split("template <> struct ").slice(1);
  const seen = new Set<string>();
  for (const product of products) {
    const [name, kind, type, width] = /^(Wgmma|WgmmaRegisters|WgmmaHalfSums)<(\w+), (\d+), [01]>/.exec(product)!;
    seen.add(name);
    const { depth, constraint: ofType } = TYPES[type!]!;
    const inHalves = kind === "WgmmaHalfSums";
    const [numAccumulators, constraint] = inHalves ? [Number(width) / 4, "+r"] : [Number(width) / 2, ofType];
    // The matrices, as descriptors or registers, and whether to accumulate.
    const numOthers = kind === "WgmmaRegisters" ? 6 : 3;
    const used = [...product.matchAll(/%(\d+)/g)].map(([, number]) => Number(number));
    expect(new Set(used)).toEqual(new Set(Array.from({ length: numAccumulators + numOthers }, (_, i) => i)));
    expect(product.split(`"${constraint}"`)).toHaveLength(numAccumulators + 1);
    expect(product).toContain(`m64n${width}k${depth}`);
  }
  expect(seen.size).toBe(products.length);
  expect(new Set([...seen].map((name) => /<(\w+)/.exec(name)![1]))).toEqual(new Set(Object.keys(TYPES)));
});
