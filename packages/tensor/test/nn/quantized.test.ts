import { tooFar } from "@vd/conformance";
import { describe, expect, test } from "vitest";
import { convQ8, linearQ8, quantize } from "../../src/nn/index";
import { quantizeWeight } from "../../src/weights/quantized-weight";
import { op, random, run } from "../support/run-module";
import { smallWeights } from "../support/small-weights";

/** Rounding both operands to 8 bits: float8 has 3 bits of mantissa, integers steps of 1/127 of the largest number. */
const NOISE = { f8e4m3: { nmse: 2e-3, worst: 0.3 }, i8: { nmse: 3e-4, worst: 0.1 } } as const;

describe.each(["f8e4m3", "i8"] as const)("in %s", (dtype) => {
  const { nmse, worst } = NOISE[dtype];
  const expectAlike = (got: { data: ArrayLike<number> }, wanted: { data: ArrayLike<number> }) => {
    expect(tooFar(got.data, wanted.data, { nmse, worst })).toBe("");
    // Exact results would mean that nothing was rounded.
    expect(tooFar(got.data, wanted.data, { nmse: nmse / 1e3, worst })).not.toBe("");
  };

  test.each([false, true])("a linear layer is near the one in float32, blocks %s", async (blocks) => {
    const { weights, plain } = smallWeights({ "a.weight": [24, 200], "a.bias": [24] });
    const [x, residual] = [random("x", [2, 2, 3, 200]), random("r", [2, 2, 3, 24])];
    const layer = linearQ8(weights.at("a"), { cin: 200, cout: 24, dtype, blocks });
    const got = await run({ x, residual }, (g, t) => layer(g, t.x!, { act: "silu", residual: t.residual }));
    expectAlike(got, op("linear", { x, weight: plain["a.weight"], bias: plain["a.bias"], residual }, { act: "silu" }));
    weights.expectAllUsed();
  });

  test("a linear layer takes a scale from calibration", async () => {
    const { weights, plain } = smallWeights({ "a.weight": [24, 64] });
    const x = random("x", [1, 1, 30, 64]);
    const got = await run({ x }, (g, t) => {
      const scale = g.constant(Float32Array.of(4 / (dtype === "i8" ? 127 : 448)), [1, 1, 1, 1]);
      return linearQ8(weights.at("a"), { cin: 64, cout: 24, bias: false, dtype, scale })(g, t.x!);
    });
    expectAlike(got, op("linear", { x, weight: plain["a.weight"] }));
  });

  test("a convolution is near the one in float32", async () => {
    const { weights, plain } = smallWeights({ "c.weight": [6, 40, 3, 3], "c.bias": [6] });
    const x = random("x", [1, 2, 7, 8, 40]);
    const layer = convQ8(weights.at("c"), { cin: 40, cout: 6, kernel: [1, 3, 3], stride: [1, 2, 2], dtype });
    const got = await run({ x }, (g, t) => layer(g, t.x!));
    const weight = { ...plain["c.weight"]!, dims: [6, 40, 1, 3, 3] };
    const attrs = { stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] };
    expectAlike(got, op("conv", { x, weight, bias: plain["c.bias"] }, attrs));
  });

  test("weights are rounded as quantize does it", async () => {
    const weight = random("w", [5, 300]);
    const rows = { dims: [1, 1, 5, 300], data: weight.data };
    for (const per of ["tensor", "row", "block"] as const) {
      const got = await run({}, (g) => {
        const made = quantizeWeight(g.constant(Float32Array.from(weight.data), [5, 300]), { dtype, per });
        return g.linearQ8({ ...identity(g, dtype), ...made });
      });
      const wanted = await run({ rows }, (g, t) => {
        const { codes, scales } = quantize(g, t.rows!, { dtype, per });
        return g.linearQ8({ x: codes, xScale: scales, ...identityWeight(g, dtype) });
      });
      const transposed = Array.from({ length: 1500 }, (_, i) => wanted.data[(i % 5) * 300 + Math.floor(i / 5)]!);
      expect([...got.data]).toEqual(transposed);
    }
  });
});

type Recorder = Parameters<Parameters<typeof run>[1]>[0];

/** Ones on the diagonal of 300 by 300, exact in both types. */
function ones(g: Recorder) {
  const data = Float32Array.from({ length: 300 * 300 }, (_, i) => Number(i % 301 === 0));
  return g.constant(data, [300, 300]);
}
const one = (g: Recorder, dims: readonly number[]) => g.constant(Float32Array.of(1), dims);

function identity(g: Recorder, dtype: "f8e4m3" | "i8") {
  const scale = one(g, [1, 1, 1, 1]);
  const { codes } = quantize(g, { ...ones(g), dims: [1, 1, 300, 300] }, { dtype, per: "tensor", scale });
  return { x: codes, xScale: scale };
}

function identityWeight(g: Recorder, dtype: "f8e4m3" | "i8") {
  const { x } = identity(g, dtype);
  return { weight: { ...x, dims: [300, 300] }, weightScale: one(g, [1, 1]) };
}
