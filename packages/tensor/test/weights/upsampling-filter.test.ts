import { tooFar } from "@vd/conformance";
import { expect, test } from "vitest";
import type { ConvOptions } from "../../src/graph-ops.generated";
import { hasUpsamplingConvQ8, QuantizedWeights, recordConvQ8, recordQuantize } from "../../src/nn/index";
import { quantizeUpsamplingWeight } from "../../src/weights/quantized-weight";
import { foldUpsampling } from "../../src/weights/upsampling-filter";
import { op, random, run } from "../support/run-module";

const TRANSPOSED = { transposed: true, stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] };
const AROUND = [0, 0, 1, 1, 1, 1] as const;
const [K, C] = [5, 6];
const weight = random("w", [K, C, 1, 3, 3]);
const filters = Float32Array.from(weight.data);

/** [K,C,16] as [C,K,16]. */
const turned = (taps: Float32Array) =>
  Float32Array.from(taps, (_, i) => taps[(Math.floor(i / 16) % K) * C * 16 + Math.floor(i / 16 / K) * 16 + (i % 16)]!);

test("folded filters of a transposed convolution give what upsampling and 3x3 filters give, borders included", () => {
  const x = random("x", [2, 2, 3, 5, C]);
  const folded = { dims: [C, K, 1, 4, 4], data: Float64Array.from(turned(foldUpsampling(filters))) };
  const wanted = op("conv", { x, weight }, { padding: AROUND, upsample: true });
  expect(tooFar(op("conv", { x, weight: folded }, TRANSPOSED).data, wanted.data, { nmse: 1e-13, worst: 1e-6 })).toBe(
    "",
  );
});

test("one tap stays where it reaches, and is counted as often", () => {
  const corner = foldUpsampling(Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0));
  expect([...corner]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1]);
});

test.each(["f8e4m3", "i8"] as const)("an upsampling convolution in %s is near the one in float32", async (dtype) => {
  const [x, bias] = [random("x", [1, 2, 4, 3, C]), random("b", [K])];
  const got = await run({ x }, (g, t) => {
    g.rewriteCalls((op, options, record) => {
      if (op !== "conv") return record(op, options);
      const call = options as unknown as ConvOptions;
      const filters = quantizeUpsamplingWeight(call.weight, { dtype });
      expect([filters.weight.dims, filters.weightScale.dims].map(String)).toEqual(["6,5,1,4,4", "5,1"]);
      return recordConvQ8(record, call, recordQuantize(record, call.x, { dtype, per: "tensor" }), filters);
    });
    const call = { weight: g.constant(filters, [K, C, 1, 3, 3]), bias: g.constant(Float32Array.from(bias.data), [K]) };
    const y = g.conv({ name: "c", x: t.x!, ...call, upsample: true, padding: AROUND });
    expect(g.rows.map(({ op }) => op)).toEqual(["quantize", "conv_q8"]);
    return y;
  });
  const wanted = op("conv", { x, weight, bias }, { padding: AROUND, upsample: true });
  const [nmse, worst] = dtype === "i8" ? [3e-4, 0.1] : [2e-3, 0.3];
  expect(got.dims).toEqual([1, 2, 8, 6, K]);
  expect(tooFar(got.data, wanted.data, { nmse, worst })).toBe("");
  expect(tooFar(got.data, wanted.data, { nmse: nmse / 1e3, worst })).not.toBe("");
});

test("folded filters are made once, apart from filters that are not folded, and refused for other sizes", async () => {
  await run({}, (g) => {
    const weights = new QuantizedWeights();
    const source = g.constant(filters, [K, C, 1, 3, 3]);
    const folded = weights.ofUpsampling(source, { dtype: "i8" });
    expect(weights.ofUpsampling(source, { dtype: "i8" })).toBe(folded);
    expect(weights.of(source, { dtype: "i8" })).not.toBe(folded);
    expect(weights.of(source, { dtype: "i8" }).weight.dims).toEqual([K, C, 1, 3, 3]);
    expect(() => quantizeUpsamplingWeight(g.constant(new Float32Array(8), [2, 4, 1, 1, 1]))).toThrow(
      /\[quantizeUpsamplingWeight\] \[weight\] expected filters \[K,C,1,3,3\], got \[2,4,1,1,1\]/,
    );
    const x = g.constant(new Float32Array(C), [1, 1, 1, 1, C]);
    const call: ConvOptions = { x, weight: source, upsample: true, padding: AROUND };
    expect(hasUpsamplingConvQ8(call)).toBe(true);
    const others: Partial<ConvOptions>[] = [
      ...[{ upsample: false }, { padding: [0, 0, 0, 0, 0, 0] as const }, { stride: [1, 2, 2] as const }, { past: x }],
      ...[{ groups: 2 }, { framePadding: "replicate" as const }, { transposed: true }],
    ];
    for (const other of others) expect(hasUpsamplingConvQ8({ ...call, ...other })).toBe(false);
    return x;
  });
});
