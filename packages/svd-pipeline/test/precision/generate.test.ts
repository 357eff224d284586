import { join } from "node:path";
import { writeSafetensors } from "@vd/tensor";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { type GeneratedVideo, type StableVideoDiffusionPipeline, saveCalibration } from "../../src/index";
import { peftName, tensorsOf } from "../lora/made-up-lora";
import { psnr, sameBytes } from "../support/measures";
import { openTiny, QUICK, temporaryFolder } from "../support/tiny-model";

const STEPS = { ...QUICK, numFrames: 2, steps: 2, onWarning: () => {} };
const LATENTS = { ...STEPS, outputType: "latent" } as const;

let plain: StableVideoDiffusionPipeline;
let exact: GeneratedVideo;
let exactLatents: Float32Array;
beforeAll(async () => {
  plain = await openTiny();
  exact = await plain.generate(STEPS);
  exactLatents = (await plain.generate(LATENTS)).latents!;
});

function distance(a: Float32Array, b: Float32Array): number {
  let [difference, size] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    difference += (a[i]! - b[i]!) ** 2;
    size += b[i]! ** 2;
  }
  return Math.sqrt(difference / size);
}

describe("a generation with layers in 8 bits", () => {
  it.each(["fp8", "int8", "mixed8"] as const)(
    "gives nearly the exact frames with %s, the same each time",
    async (precision) => {
      const pipeline = await openTiny({ precision, calibration: "none" });
      const video = await pipeline.generate(STEPS);
      expect(psnr(video.data, exact.data)).toBeGreaterThan(45);
      expect(sameBytes(video.data, exact.data)).toBe(false);
      const oneThread = await openTiny({ precision, calibration: "none", threads: 1 });
      expect(sameBytes((await oneThread.generate(STEPS)).data, video.data)).toBe(true);
    },
  );

  it("comes near the exact latents with fp8", async () => {
    const pipeline = await openTiny({ precision: "fp8", calibration: "none" });
    const far = distance((await pipeline.generate(LATENTS)).latents!, exactLatents);
    expect(far).toBeLessThan(0.03);
    expect(far).toBeGreaterThan(1e-4);
  });

  it("says that a table would help, and what the CPU gains by", async () => {
    const told: string[] = [];
    const pipeline = await openTiny({ precision: "int8", calibration: "none" });
    const { warnings, stages } = await pipeline.plan(STEPS);
    expect(warnings.join("\n")).toMatch(
      /the CPU multiplies integers of 8 bits faster than float32[\s\S]*vd-generate calibrate makes one/,
    );
    await pipeline.generate({ ...LATENTS, onWarning: (message) => told.push(message) });
    expect(told).toEqual(warnings);
    const bytesOf = (all: typeof stages) => all.find(({ name }) => name === "denoise")!.peakBytes;
    const full = await plain.plan(STEPS);
    expect(bytesOf(stages)).toBeLessThan(bytesOf(full.stages));
  });

  it("merges LoRAs before weights are rounded, and lets go of them", async () => {
    const path = join(temporaryFolder(), "lora.safetensors");
    const module = "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q";
    writeSafetensors(path, tensorsOf({ module, shape: [64, 64], rank: 4, alpha: 4 }, peftName, "F32"));
    const pipeline = await openTiny({ precision: "int8", calibration: "none" });
    const before = (await pipeline.generate(LATENTS)).latents!;
    await pipeline.loadLoras([{ path, weight: 8 }]);
    await plain.loadLoras([{ path, weight: 8 }]);
    const [eight, full] = [(await pipeline.generate(LATENTS)).latents!, (await plain.generate(LATENTS)).latents!];
    await plain.unloadLoras();
    expect(distance(eight, full)).toBeLessThan(0.03);
    expect(distance(full, exactLatents)).toBeGreaterThan(2 * distance(eight, full));
    await pipeline.unloadLoras();
    expect((await pipeline.generate({ ...LATENTS })).latents).toEqual(before);
  });

  it("runs on two devices", async () => {
    const pipeline = await openTiny({ precision: "int8", calibration: "none", devices: ["cpu", "cpu"] });
    const guided = { ...LATENTS, maxGuidance: 3 };
    const [eight, full] = [await pipeline.generate(guided), await plain.generate(guided)];
    expect(distance(eight.latents!, full.latents!)).toBeLessThan(0.03);
  });

  it("does not go on from a state of another precision", async () => {
    const resume = join(temporaryFolder(), "state");
    const stop = new AbortController();
    const onStepEnd = () => stop.abort();
    await failureOf(plain.generate({ ...STEPS, resume, onStepEnd, signal: stop.signal }));
    const pipeline = await openTiny({ precision: "int8", calibration: "none" });
    const { message } = await failureOf(pipeline.generate({ ...STEPS, resume, onStepEnd: () => {} }));
    expect(message).toContain("8-bit layers");
  });
});

describe("calibration", () => {
  it("makes a table that the next opening finds, and that another model refuses", async () => {
    const seen: number[] = [];
    const { table, layers } = await plain.calibrate({
      ...{ images: [QUICK.image], width: 32, height: 32, numFrames: 2, steps: 2, seed: 3 },
      onLayer: (done) => seen.push(done),
    });
    expect(table.layers.size).toBe(layers.size);
    expect(seen.at(-1)).toBe(layers.size);
    expect([...layers.values()].some(({ i8 }) => i8.strength > 0)).toBe(true);
    const path = join(temporaryFolder(), "table.json");
    await saveCalibration(path, table);
    const pipeline = await openTiny({ precision: "int8", calibration: path });
    const video = await pipeline.generate(STEPS);
    expect(psnr(video.data, exact.data)).toBeGreaterThan(45);
    expect((await pipeline.plan(STEPS)).warnings.join()).not.toContain("vd-generate calibrate");
    const [layer, { i8, f8e4m3 }] = [...table.layers].find(([, types]) => types.i8?.exponents) as unknown as [
      string,
      { i8: object; f8e4m3: object },
    ];
    const short = new Map([...table.layers, [layer, { i8: { ...i8, exponents: Int8Array.of(1) }, f8e4m3 } as never]]);
    await saveCalibration(path, { ...table, layers: short });
    const cut = await openTiny({ precision: "int8", calibration: path });
    expect((await failureOf(cut.plan(STEPS))).message).toContain(`[${layer}] expected 64 exponents, got 1`);
    await saveCalibration(path, { ...table, model: "0".repeat(64) });
    const { code, message } = await failureOf(openTiny({ precision: "int8", calibration: path }));
    expect(code).toBe("weights");
    expect(message).toContain("one of another model (00000000)");
  });
});
