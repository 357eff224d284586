import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  buildEngine,
  type EngineOptions,
  exportModel,
  openEngine,
  type Profile,
  readModel,
  runEngine,
} from "../../src/index";
import { failureOf } from "../support/failure";
import { type FakeTrt, fakeTrt } from "../support/fake-trt";
import { TINY } from "../support/fixtures";
import { folderForAll, temporaryFolder } from "../support/temporary-folder";

const GPU = { name: "Stand-in 4090", computeCapability: "8.9" };
const models = folderForAll();
const fixed = join(models, "fixed", "unet.onnx");
const free = join(models, "free", "unet.onnx");
const half = join(models, "half", "unet.onnx");

beforeAll(async () => {
  const size = { parts: ["unet"], frames: 2, width: 32, height: 32 } as const;
  await exportModel(TINY, join(models, "fixed"), size);
  await exportModel(TINY, join(models, "free"), { ...size, dynamic: ["batch", "frames", "size"] });
  await exportModel(TINY, join(models, "half"), { ...size, precision: "fp16" });
});
afterAll(() => rmSync(models, { recursive: true }));

async function optionsFor(trt: FakeTrt, more: Partial<EngineOptions> = {}): Promise<EngineOptions> {
  return { tensorRt: await trt.find(), gpu: GPU, precision: "fp32", cacheDir: temporaryFolder(), ...more };
}

const sizes = (batch: number, frames: number, side: number) => ({ batch, frames, height: side, width: side });
const profile: Profile = { min: sizes(1, 1, 8), opt: sizes(2, 14, 16), max: sizes(2, 25, 32) };

describe("building an engine", () => {
  it("asks trtexec for it once, and finds it in the cache from then on", async () => {
    const trt = fakeTrt();
    const messages: string[] = [];
    const options = await optionsFor(trt, {
      onProgress: ({ message }) => messages.push(message),
      optimizationLevel: 2,
    });
    const first = await buildEngine(fixed, { ...options, workspaceBytes: 2 ** 30 });
    const [args] = trt.calls();
    expect(args!.filter((arg) => !/^--(saveEngine|timingCacheFile)=/.test(arg))).toEqual([
      `--onnx=${fixed}`,
      "--device=0",
      "--skipInference",
      "--builderOptimizationLevel=2",
      "--memPoolSize=workspace:1024M",
    ]);
    expect(messages).toEqual(["Start parsing network model.", "Engine built in 2.1 sec."]);
    const second = await buildEngine(fixed, options);
    expect([first.fromCache, second.fromCache, trt.calls().length]).toEqual([false, true, 1]);
    expect(second.path).toBe(first.path);
    const kept = readdirSync(join(options.cacheDir!, "engines")).map((name) =>
      name.replace(/^[0-9a-f-]+|[0-9a-f]{16}/g, ""),
    );
    expect(kept.sort()).toEqual([".engine", ".engine.json", "timing-.cache"]);
  });

  it.each<[string, Partial<EngineOptions>, string]>([
    ["precision", { precision: "fp16" }, fixed],
    ["GPU", { gpu: { name: "Another", computeCapability: "9.0" } }, fixed],
    ["optimisation level", { optimizationLevel: 5 }, fixed],
    ["model", {}, half],
  ])("builds another one for another %s", async (_, change, path) => {
    const trt = fakeTrt();
    const options = await optionsFor(trt);
    await buildEngine(fixed, options);
    const precision = path === half ? "fp16" : options.precision;
    await buildEngine(path, { ...options, precision, ...change });
    expect(trt.calls().length).toBe(2);
  });

  it("builds another one for another version of TensorRT, and keeps the timings of each apart", async () => {
    const trt = fakeTrt({ banner: "v101000" });
    const options = await optionsFor(trt);
    await buildEngine(fixed, options);
    trt.behave({ banner: "v101200" });
    await buildEngine(fixed, { ...options, tensorRt: await trt.find() });
    const timings = trt.calls().map((args) => args.find((arg) => arg.startsWith("--timingCacheFile=")));
    expect(new Set(timings).size).toBe(2);
  });

  it("gives ranges of shapes for free sizes, and asks for them", async () => {
    const trt = fakeTrt();
    const options = await optionsFor(trt);
    const error = await failureOf(() => buildEngine(free, options));
    expect([error.code, error.where]).toEqual(["attr", "profile"]);
    await buildEngine(free, { ...options, profile });
    expect(trt.calls()[0]!.filter((arg) => arg.includes("Shapes"))).toEqual([
      "--minShapes=sample:1x1x8x8x8,encoder_hidden_states:1x1x128,added_time_ids:1x3",
      "--optShapes=sample:2x14x8x16x16,encoder_hidden_states:2x1x128,added_time_ids:2x3",
      "--maxShapes=sample:2x25x8x32x32,encoder_hidden_states:2x1x128,added_time_ids:2x3",
    ]);
    const wrong = { ...profile, min: sizes(3, 1, 8) };
    expect((await failureOf(() => buildEngine(free, { ...options, profile: wrong }))).where).toBe("profile] [batch");
    const { batch, frames } = profile.opt;
    const few = { ...profile, opt: { batch, frames } as never };
    expect((await failureOf(() => buildEngine(free, { ...options, profile: few }))).expected).toContain("height");
  });

  it.each<[string, EngineOptions["precision"], string, string[]]>([
    ["v101200", "fp16", fixed, ["--fp16"]],
    ["v101200", "fp16", half, ["--stronglyTyped"]],
    ["v110000", "fp16", half, []],
    ["v110000", "fp32", fixed, []],
  ])("passes what TensorRT %s takes for %s", async (banner, precision, path, flags) => {
    const trt = fakeTrt({ banner });
    await buildEngine(path, await optionsFor(trt, { precision }));
    expect(trt.calls()[0]!.filter((arg) => /fp16|fp8|int8|strongly/.test(arg))).toEqual(flags);
  });

  it("refuses a TensorRT that is too old for the operations", async () => {
    const trt = fakeTrt({ banner: "v8601" });
    const error = await failureOf(async () => buildEngine(fixed, await optionsFor(trt)));
    expect([error.code, error.expected, error.got]).toEqual(["unsupported", "TensorRT 10 or newer", "8.6.1"]);
  });

  it("passes int8 with a calibration to TensorRT 10", async () => {
    const trt = fakeTrt();
    const calibration = join(temporaryFolder(), "ranges.cache");
    writeFileSync(calibration, "TRT-10-EntropyCalibration2");
    await buildEngine(fixed, await optionsFor(trt, { precision: "int8", calibration }));
    expect(trt.calls()[0]).toEqual(expect.arrayContaining(["--int8", "--fp16", `--calib=${calibration}`]));
  });

  it.each<[string, EngineOptions["precision"], string]>([
    ["v110000", "fp16", fixed],
    ["v101200", "int8", fixed],
    ["v101200", "fp8", fixed],
    ["v110000", "int8", half],
    ["v101200", "fp32", half],
    ["v101200", "fp4" as never, fixed],
  ])("refuses what TensorRT %s would not do for %s", async (banner, precision, path) => {
    const trt = fakeTrt({ banner });
    const error = await failureOf(async () => buildEngine(path, await optionsFor(trt, { precision })));
    expect([error.code, error.where]).toEqual(["attr", "precision"]);
    expect(trt.calls()).toEqual([]);
  });

  it.each([
    [{ fail: "Network has dynamic inputs" }, "Network has dynamic inputs"],
    [{ noEngine: true }, "success without one"],
  ])("says what TensorRT complained of and keeps nothing: %j", async (behaviour, got) => {
    const trt = fakeTrt(behaviour);
    const options = await optionsFor(trt);
    const error = await failureOf(() => buildEngine(fixed, options));
    expect([error.code, error.got]).toEqual(["unsupported", expect.stringContaining(got)]);
    expect(readdirSync(join(options.cacheDir!, "engines")).filter((name) => !name.startsWith("timing-"))).toEqual([]);
  });

  it("ends trtexec on a cancel and keeps nothing of the half-built engine", async () => {
    const controller = new AbortController();
    const onProgress = ({ message }: { message: string }) => message === "Building." && controller.abort();
    const options = await optionsFor(fakeTrt({ hang: true }), { signal: controller.signal, onProgress });
    expect((await failureOf(() => buildEngine(fixed, options))).code).toBe("cancelled");
    expect(readdirSync(join(options.cacheDir!, "engines"))).toEqual([]);
  });

  it.each([
    ["throws", () => expect.unreachable("the callback's own")],
    ["rejects with", async () => expect.unreachable("the callback's own")],
  ])("fails with what onProgress %s, and keeps nothing", async (_, onProgress) => {
    const options = await optionsFor(fakeTrt(), { onProgress });
    await expect(buildEngine(fixed, options)).rejects.toThrow("the callback's own");
  });

  it("builds again what was cut off or lost its description", async () => {
    const trt = fakeTrt();
    const options = await optionsFor(trt);
    const { path } = await buildEngine(fixed, options);
    truncateSync(path, 5);
    expect((await buildEngine(fixed, options)).fromCache).toBe(false);
    writeFileSync(`${path}.json`, "{}");
    expect((await buildEngine(fixed, options)).fromCache).toBe(false);
    expect(trt.calls().length).toBe(3);
  });
});

describe("opening an engine", () => {
  it("refuses one of another GPU, TensorRT, model or precision, naming both", async () => {
    const trt = fakeTrt();
    const { path, facts } = await buildEngine(fixed, await optionsFor(trt));
    expect((await openEngine(path, facts)).engineBytes).toBeGreaterThan(0);
    const other = { name: "H200", computeCapability: "9.0" };
    const error = await failureOf(() => openEngine(path, { gpu: other }));
    expect(error.code).toBe("unsupported");
    expect(error.message).toContain("H200 (9.0)");
    expect(error.message).toContain("Stand-in 4090 (8.9)");
    for (const wanted of [{ tensorRt: "9.0.0" }, { onnxSha256: "0" }, { precision: "fp16" as const }, { profile }])
      expect((await failureOf(() => openEngine(path, wanted))).code).toBe("unsupported");
  });

  it("refuses a damaged one, a lost one, and one without a description", async () => {
    const { path } = await buildEngine(fixed, await optionsFor(fakeTrt()));
    const bytes = readFileSync(path);
    writeFileSync(
      path,
      bytes.map((byte, i) => (i === 3 ? byte ^ 1 : byte)),
    );
    expect((await failureOf(() => openEngine(path, {}))).got).toBe("other bytes");
    truncateSync(path, 3);
    expect((await failureOf(() => openEngine(path, {}))).got).toBe("3 bytes");
    rmSync(path);
    expect((await failureOf(() => openEngine(path, {}))).got).toBe("no such file");
    rmSync(`${path}.json`);
    expect((await failureOf(() => openEngine(path, {}))).code).toBe("io");
    expect(existsSync(path)).toBe(false);
  });
});

describe("running an engine", () => {
  it("hands inputs over in files of the model's types and reads the results", async () => {
    const trt = fakeTrt({ sampleDims: [2, 2, 8, 4, 4] });
    const options = await optionsFor(trt);
    const engine = await buildEngine(fixed, options);
    const sample = { data: Float32Array.from({ length: 512 }, (_, i) => i), dims: [2, 2, 8, 4, 4] };
    const inputs = {
      sample,
      timestep: { data: Float32Array.of(1), dims: [1] },
      encoder_hidden_states: { data: new Float32Array(256), dims: [2, 1, 128] },
      added_time_ids: { data: new Float32Array(6), dims: [2, 3] },
    };
    const { out_sample: result } = await runEngine(engine, await readModel(fixed), inputs, options);
    expect(result!.dims).toEqual([2, 2, 4, 4, 4]);
    expect([...result!.data.slice(62, 66)]).toEqual([31, 31.5, 64, 64.5]);
    expect(trt.calls()[1]).toEqual(expect.arrayContaining([`--loadEngine=${engine.path}`, "--iterations=1"]));
    const missing = await failureOf(async () => runEngine(engine, await readModel(fixed), { sample }, options));
    expect(missing.code).toBe("attr");
    copyFileSync(fixed, engine.path);
    const broken = await failureOf(async () => runEngine(engine, await readModel(fixed), inputs, options));
    expect(broken.code).toBe("unsupported");
  });
});
