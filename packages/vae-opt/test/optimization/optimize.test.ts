import { type Device, openDevice } from "@vd/kernels-native";
import { Graph, layoutGraph, type Tensor } from "@vd/tensor";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  configureAutocast,
  isFp8Available,
  optimizeForWindowsBlackwell,
  parseVaeConfig,
  rewriteOf,
  SvdAutoencoder,
  temporalVae,
} from "../../src/index";
import { OptimizableModel } from "../../src/optimization/optimizable-model";
import { PLAIN } from "../../src/optimization/switches";
import { openSmall } from "../causal-video/support";
import { randomWeights } from "../support/random-weights";
import { noise, runModule } from "../support/run-module";

const device = openDevice("cpu", { threads: 2 });
let vae: SvdAutoencoder;
beforeAll(async () => {
  vae = await SvdAutoencoder.fromPretrained("models/tiny-svd", { device });
});
afterAll(() => vae.close());

const LATENTS = { numFrames: 2, width: 3, height: 2, data: noise(2 * 4 * 3 * 2) };

describe("a model's optimisations", () => {
  it("are off at first, turned on by one call that returns the model, and off again by another", () => {
    expect(vae.optimizations).toEqual(PLAIN);
    expect(optimizeForWindowsBlackwell(vae)).toBe(vae);
    expect(vae.optimizations).toEqual({
      ...PLAIN,
      fusedSilu: true,
      fusedUpsample: true,
      fusedReparameterization: true,
    });
    expect(vae.disableOptimizations()).toBe(vae);
    expect(vae.optimizations).toEqual(PLAIN);
  });

  it("are switches of their own", () => {
    vae.enableWindowsBlackwellOptimizations({ fusedSilu: false });
    expect(vae.optimizations).toEqual({ ...PLAIN, fusedUpsample: true, fusedReparameterization: true });
    vae.disableOptimizations();
  });

  it("are reported: what the CPU has not is skipped and said", () => {
    const { platform, changes } = optimizeForWindowsBlackwell(vae, {
      fp8: true,
      mixedPrecision: "float16",
      channelsLast: true,
    }).optimizationReport;
    expect(platform).toContain("a CPU");
    const stateOf = Object.fromEntries(changes.map(({ name, state }) => [name, state]));
    expect(stateOf).toEqual({
      ...{ autotune: "skipped", mixedPrecision: "skipped", fp8: "skipped", channelsLast: "always" },
      ...{ fusedNorm: "skipped" },
      ...{ fusedSilu: "on", fusedUpsample: "on", fusedReparameterization: "on", winograd: "off" },
    });
    expect(changes.every(({ reason }) => reason.endsWith("."))).toBe(true);
    vae.disableOptimizations();
  });

  it("change frames by rounding only", async () => {
    const plain = await vae.decode(LATENTS);
    const fused = await vae.enableWindowsBlackwellOptimizations().decode(LATENTS);
    vae.disableOptimizations();
    expect(fused.data.every((value, i) => Math.abs(value - plain.data[i]!) < 1e-4)).toBe(true);
  });

  it("are checked", () => {
    expect(() => vae.enableWindowsBlackwellOptimizations({ fusedSilu: 1 as never })).toThrow(/fusedSilu/);
    expect(() => vae.enableWindowsBlackwellOptimizations({ turbo: true } as never)).toThrow(/an unknown switch/);
    expect(() => vae.enableWindowsBlackwellOptimizations({ mixedPrecision: "float8" as never })).toThrow(/float16/);
    expect(() => optimizeForWindowsBlackwell(undefined as never)).toThrow(/a model of this package/);
  });

  it("are not there for other autoencoders, which is said of them by name", async () => {
    const causal = await openSmall();
    for (const call of [
      () => optimizeForWindowsBlackwell(causal as never),
      () => configureAutocast(causal as never, { precision: "float16" }),
    ])
      expect(call).toThrow(
        /with switches, such as SvdAutoencoder, got CausalVideoAutoencoder\. Other autoencoders always run fused/,
      );
    await causal.close();
  });
});

it("without fusions, SiLU and upsampling are rows of their own", () => {
  const rowsOf = (switches: Partial<typeof PLAIN>) =>
    layoutGraph((g: Graph) => {
      const rewrite = rewriteOf({ ...PLAIN, ...switches });
      if (rewrite) g.rewriteCalls(rewrite);
      const [weight, filter] = [
        g.constant(new Float32Array(4), [4]),
        g.constant(new Float32Array(4 * 4 * 9), [4, 4, 1, 3, 3]),
      ];
      const x = g.input("x", [1, 1, 2, 2, 4]);
      const y = g.groupNorm({ name: "norm", x, weight, bias: weight, groups: 2, eps: 1e-6, act: "silu" });
      g.output("y", g.conv({ name: "conv", x: y, weight: filter, padding: [0, 0, 1, 1, 1, 1], upsample: true }));
    }).graph.rows.map(({ name }) => name);
  expect(rowsOf({})).toEqual(["norm", "norm.silu", "conv.upsample", "conv"]);
  expect(rowsOf({ fusedSilu: true })).toEqual(["norm", "conv.upsample", "conv"]);
  expect(rowsOf({ fusedUpsample: true })).toEqual(["norm", "norm.silu", "conv"]);
  expect(rowsOf({ fusedSilu: true, fusedUpsample: true })).toEqual(["norm", "conv"]);
});

it("with norms inside convolutions, large maps of 16 bits are normalised by the convolution behind", () => {
  const opsOf = (dtype: "f16" | "f32") =>
    layoutGraph(
      (g: Graph) => {
        g.rewriteCalls(rewriteOf({ ...PLAIN, fusedSilu: true, fusedUpsample: true, fusedNorm: true })!);
        const [weight, filter] = [
          g.constant(new Float32Array(128), [128]),
          g.constant(new Float32Array(128 * 128 * 9), [128, 128, 1, 3, 3]),
        ];
        const x = g.input("x", [1, 1, 128, 128, 128]);
        const y = g.groupNorm({ name: "norm", x, weight, bias: weight, groups: 32, eps: 1e-6, act: "silu" });
        g.output("y", g.conv({ name: "conv", x: y, weight: filter, padding: [0, 0, 1, 1, 1, 1] }));
      },
      { dtype },
    ).graph.rows.map(({ op }) => op);
  expect(opsOf("f16")).toEqual(["group_norm_stats", "group_norm_conv"]);
  expect(opsOf("f32")).toEqual(["group_norm", "conv"]);
});

it("8-bit floats are not for the CPU", () => {
  const { available, reason } = isFp8Available(device);
  expect(available).toBe(false);
  expect(reason).toMatch(/CPU/);
});

it("an autocast scope ends with its block, and refuses what is no precision", () => {
  let left = 0;
  const model = { enterPrecision: () => () => left++ } as unknown as SvdAutoencoder;
  {
    using scope = configureAutocast(model, { precision: "bfloat16" });
    expect(scope.precision).toBe("bfloat16");
    expect(left).toBe(0);
  }
  expect(left).toBe(1);
  expect(() => configureAutocast(model, { precision: "int4" as never })).toThrow(/bfloat16/);
});

it("autocast scopes may close in any order, and more than once: the innermost that is open counts", () => {
  class Model extends OptimizableModel {
    get precision() {
      return this.active.precision;
    }
  }
  const model = new Model({ ...device, kind: "cuda", name: "a card" } as unknown as Device);
  const [first, , last] = (["float16", "bfloat16", "float16"] as const).map((precision) =>
    configureAutocast(model, { precision }),
  );
  expect(model.precision).toBe("float16");
  first![Symbol.dispose]();
  first![Symbol.dispose]();
  expect(model.precision).toBe("float16");
  last![Symbol.dispose]();
  expect(model.precision).toBe("bfloat16");
});

it("autocast says what it needs, and switches' other options are checked", () => {
  expect(() => configureAutocast(undefined as never, { precision: "float16" })).toThrow(/a model of this package/);
  expect(() => configureAutocast(vae, undefined as never)).toThrow(/one of float32, float16, bfloat16/);
  expect(() => vae.enableWindowsBlackwellOptimizations({ folder: 7 as never })).toThrow(/folder.*a string/);
  expect(() => vae.enableWindowsBlackwellOptimizations({ onProgress: 7 as never })).toThrow(/onProgress.*a function/);
});

it("optimised, plain and optimised again decode to the same bits each", async () => {
  const plain = await vae.decode(LATENTS);
  const first = await vae.enableWindowsBlackwellOptimizations().decode(LATENTS);
  expect((await vae.disableOptimizations().decode(LATENTS)).data).toEqual(plain.data);
  expect((await vae.enableWindowsBlackwellOptimizations().decode(LATENTS)).data).toEqual(first.data);
  vae.disableOptimizations();
});

it("in 8-bit floats with norms inside, convolutions over frames of 128 channels round by themselves, and the last one keeps its type", () => {
  const g = new Graph({ dtype: "f16" });
  g.rewriteCalls(rewriteOf({ fusedSilu: true, fusedUpsample: true, fusedNorm: true, winograd: false, fp8: true })!);
  const vector = g.constant(new Float32Array(128), [128]);
  const norm = (x: Tensor) => g.groupNorm({ x, weight: vector, bias: vector, groups: 32, eps: 1e-6, act: "silu" });
  const convolve = (x: Tensor, filters: number, [t, side]: [number, number]) => {
    const weight = g.constant(new Float32Array(filters * 128 * t * side * side), [filters, 128, t, side, side]);
    const edge = (side - 1) / 2;
    return g.conv({ x: norm(x), weight, padding: [(t - 1) / 2, (t - 1) / 2, edge, edge, edge, edge] });
  };
  const x = g.input("x", [1, 3, 128, 128, 128]);
  const inside = convolve(convolve(x, 128, [1, 3]), 128, [3, 1]);
  convolve(inside, 3, [1, 3]);
  expect(g.rows.map(({ op }) => op)).toEqual([
    ...["group_norm_q8", "conv_q8"],
    ...["group_norm_stats", "group_norm_conv_q8", "group_norm_stats", "group_norm_conv"],
  ]);
});

it("in 8-bit floats, convolutions that upsample become transposed ones of the same sizes, but for those of few channels", () => {
  const recorded = (channels: number, fusedUpsample: boolean) => {
    const g = new Graph();
    g.rewriteCalls(rewriteOf({ fusedSilu: true, fusedUpsample, fusedNorm: true, winograd: false, fp8: true })!);
    const weight = g.constant(new Float32Array(64 * channels * 9), [64, channels, 1, 3, 3]);
    const x = g.input("x", [1, 2, 3, 5, channels]);
    const y = g.conv({ name: "up", x, weight, padding: [0, 0, 1, 1, 1, 1], upsample: true });
    expect(y.dims).toEqual([1, 2, 6, 10, 64]);
    return g.rows.map(({ op, inputs }) => [op, ...inputs.flatMap((each) => (each ? [each.dims.join()] : []))]);
  };
  expect(recorded(32, true)).toEqual([
    ["quantize", "1,2,15,32"],
    ["conv_q8", "1,2,3,5,32", "1,1,1,1", "32,64,1,4,4", "64,1"],
  ]);
  expect(recorded(16, true).map(([op]) => op)).toEqual(["conv"]);
  // Without that fusion the map is doubled first.
  expect(recorded(32, false).map(([op]) => op)).toEqual(["resize", "quantize", "conv_q8"]);
});

it("in 8-bit floats, convolutions of many channels take codes with scales, and frames differ by their rounding", async () => {
  const config = parseVaeConfig({ block_out_channels: [32, 64], layers_per_block: 1, down_block_types: undefined });
  const { decode } = temporalVae(randomWeights().weights, config);
  const z = noise(2 * 4 * 3 * 4);
  const run = (fp8: boolean) =>
    runModule(
      (g, x) => {
        const rewrite = rewriteOf({ fusedSilu: true, fusedUpsample: true, fusedNorm: false, winograd: false, fp8 });
        if (rewrite) g.rewriteCalls(rewrite);
        const y = decode(g, x);
        const numOf = (id: string) => g.rows.filter(({ op }) => op === id).length;
        expect(numOf("conv_q8") > 0).toBe(fp8);
        // The decoder's only upsampling convolution is among them.
        const transposed = g.rows.filter(({ op, inputs }) => op === "conv_q8" && inputs[2]!.dims[3] === 4);
        expect(transposed).toHaveLength(fp8 ? 1 : 0);
        // Norms round for the convolutions behind them, and for nothing else.
        expect(numOf("group_norm_q8") > numOf("quantize")).toBe(fp8);
        expect(numOf("conv_q8")).toBe(numOf("group_norm_q8") + numOf("quantize"));
        return y;
      },
      [1, 2, 4, 3, 4],
      z,
    );
  const [plain, eight] = [await run(false), await run(true)];
  const distance = (i: number) => (eight.values[i]! - plain.values[i]!) ** 2;
  const [error, size] = plain.values.reduce(([e, n], value, i) => [e! + distance(i), n! + value ** 2], [0, 0]);
  expect(Math.sqrt(error! / size!)).toBeGreaterThan(1e-4);
  expect(Math.sqrt(error! / size!)).toBeLessThan(0.1);
});

it("what is no device, no scope and no object of switches is refused in sentences", () => {
  for (const wrong of [undefined, "cpu", {}])
    expect(() => isFp8Available(wrong as never)).toThrow(/\[isFp8Available\] expected an open device/);
  expect(() => configureAutocast(vae, { precision: "float16", enable: false } as never)).toThrow(
    /\[configureAutocast\] \[enable\] expected one of precision, enabled, got an unknown option/,
  );
  expect(() => configureAutocast(vae, { precision: "float16", enabled: "no" as never })).toThrow(
    /\[enabled\] expected true or false, got no/,
  );
  expect(() => vae.enableWindowsBlackwellOptimizations([] as never)).toThrow(/expected an object of switches/);
  expect(vae.optimizations).toEqual(PLAIN);
});
