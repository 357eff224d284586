import { expect, test } from "vitest";
import { files } from "../../generate/wgmma/files";

test("every wgmma function numbers its operands after its accumulators", () => {
  const [[path, text]] = files() as [readonly [string, string]];
  expect(path.endsWith("device/ptx/wgmma.cuh")).toBe(true);
  const products = text.split("template <> struct ").slice(1);
  expect(products).toHaveLength(2 * (5 + 1 + 3));
  for (const product of products) {
    const [, kind, width] = /^(Wgmma|WgmmaRegisters)<\w+, (\d+), [01]>/.exec(product)!;
    const numAccumulators = Number(width) / 2;
    // The matrices, as descriptors or registers, and whether to accumulate.
    const numOthers = kind === "Wgmma" ? 3 : 6;
    const used = [...product.matchAll(/%(\d+)/g)].map(([, number]) => Number(number));
    expect(new Set(used)).toEqual(new Set(Array.from({ length: numAccumulators + numOthers }, (_, i) => i)));
    expect([...product.matchAll(/"\+f"/g)]).toHaveLength(numAccumulators);
    expect(product).toContain(`m64n${width}k16`);
  }
});
