import { type Device, openDevice } from "@vd/kernels-native";
import { type Graph, type GraphLayout, layoutGraph, type QuantizedType, quantize, quantizeWeight } from "@vd/tensor";
import { beforeAll, describe, expect, it } from "vitest";
import { measureRates, runUs } from "../../src/generation/device-rates";

const TOKENS = 64;
const CHANNELS = 32;
const LINEAR_FLOPS = 2 * TOKENS * CHANNELS * CHANNELS;
const WEIGHT = new Float32Array(CHANNELS * CHANNELS).fill(0.01);

/** Adds a layer in float32, and one of codes of each of `dtypes`, that read the same tokens. */
function layers(g: Graph, dtypes: readonly QuantizedType[]): void {
  const x = g.input("x", [1, 1, TOKENS, CHANNELS]);
  g.output("plain", g.linear({ name: "plain", x, weight: g.constant(WEIGHT, [CHANNELS, CHANNELS]) }));
  for (const dtype of dtypes) {
    const { codes, scales } = quantize(g, x, { dtype, name: `${dtype}.quantize` });
    const weights = quantizeWeight(g.constant(WEIGHT, [CHANNELS, CHANNELS]), { dtype });
    const out = g.empty([1, 1, TOKENS, CHANNELS]);
    g.output(dtype, g.linearQ8({ name: dtype, x: codes, xScale: scales, ...weights, out }));
  }
}

let device: Device;
let plain: GraphLayout;
let both: GraphLayout;
beforeAll(async () => {
  device = await openDevice("cpu");
  const layoutOf = (dtypes: readonly QuantizedType[]) => layoutGraph((g) => layers(g, dtypes));
  [plain, both] = [layoutOf([]), layoutOf(["i8", "f8e4m3"])];
});

describe("how fast a device is", () => {
  it("measures the types of 8 bits that a layout has, and no others", async () => {
    expect((await measureRates(device, [plain])).eightBitFlopsPerUs).toEqual({});
    const { flopsPerUs, bytesPerUs, eightBitFlopsPerUs } = await measureRates(device, [plain, both]);
    expect(Object.keys(eightBitFlopsPerUs)).toEqual(["i8", "f8e4m3"]);
    for (const rate of [flopsPerUs, bytesPerUs, eightBitFlopsPerUs.i8!, eightBitFlopsPerUs.f8e4m3!])
      expect(rate).toBeGreaterThan(0);
  });

  it("counts each layer at the rate of its type", () => {
    const rates = { flopsPerUs: 100, bytesPerUs: 1e9, eightBitFlopsPerUs: { i8: 400, f8e4m3: 50 } };
    const traffic = both.cost.bytes / rates.bytesPerUs;
    const others = (both.cost.flops - 2 * LINEAR_FLOPS) / 100;
    expect(runUs(both, rates)).toBeCloseTo(traffic + others + LINEAR_FLOPS / 400 + LINEAR_FLOPS / 50, 6);
  });

  it("counts a type that was not measured as float32", () => {
    const rates = { flopsPerUs: 100, bytesPerUs: 1e9, eightBitFlopsPerUs: {} };
    expect(runUs(both, rates)).toBeCloseTo(both.cost.flops / 100 + both.cost.bytes / 1e9, 6);
  });
});
