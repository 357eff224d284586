import { samplerNames } from "@vd/sampling";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { checkOptions } from "../../src/options/check-generate";
import type { GenerateDefaults, GenerateOptions } from "../../src/types";

const DEFAULTS: GenerateDefaults = {
  width: 1024,
  height: 576,
  numFrames: 25,
  clipFrames: 25,
  steps: 25,
  fps: 7,
  motionBucketId: 127,
  noiseAugStrength: 0.02,
  minGuidance: 1,
  maxGuidance: 3,
};
const check = (options: Record<string, unknown>) =>
  checkOptions({ image: "a.png", ...options } as GenerateOptions, DEFAULTS, 8);

/** Everything that a caller can get wrong, as a caller without types would write it. */
const WRONG: Record<string, unknown>[] = [
  { width: 1000.5 },
  { width: 1020 },
  { width: 4 },
  { width: 16392 },
  { width: "512" },
  { height: Number.NaN },
  { height: -576 },
  { height: null },
  { height: [576] },
  { height: 576n },
  { numFrames: 0 },
  { numFrames: 4097 },
  { numFrames: 2.5 },
  { steps: 0 },
  { steps: 10_001 },
  { fps: 0 },
  { fps: 23.976 },
  { motionBucketId: -1 },
  { noiseAugStrength: Number.POSITIVE_INFINITY },
  { minGuidance: "1" },
  { maxGuidance: -2 },
  { guidance: "linaer" },
  { guidance: null },
  { seed: -1 },
  { seed: 1.5 },
  { seed: 2n ** 64n },
  { seed: 2 ** 60 },
  { seed: Number.NaN },
  { seed: "42" },
  { sampler: "eulre" },
  { sampler: 3 },
  { outputType: "latents" },
  { outputType: 1 },
  { latents: [1, 2] },
  { onStepEnd: true },
  { sampler: "" },
  { sigmas: 5 },
  { sigmas: [10, "1", 0] },
  { sigmas: [10n, 0n] },
  { sigmas: [] },
  { decodeChunk: 0 },
  { decodeChunk: null },
  { isolateDecodeChunks: "yes" },
  { stepNoise: "gpu" },
  { memory: "lots" },
  { previewEvery: 0 },
  { onProgress: true },
  { onPreview: {} },
  { signal: new AbortController() },
  { signal: null },
];

/** Names that no option has. */
const UNKNOWN: Record<string, unknown>[] = [{ numFrame: 3 }, { toString: 1 }];

const describeValue = (value: unknown) =>
  typeof value === "bigint"
    ? `${value}n`
    : typeof value === "object"
      ? (value?.constructor.name ?? "null")
      : String(value);

describe("wrong options", () => {
  it("are refused with what was expected, what came, and what to do", async () => {
    const messages: string[] = [];
    for (const options of WRONG) {
      const error = await failureOf(() => check(options));
      const [[name, value]] = Object.entries(options) as [[string, unknown]];
      expect([name, error.code, error.where]).toEqual([name, "attr", name]);
      // A new sampler changes no test.
      const message = error.message.replace(samplerNames.join(", "), "SAMPLERS");
      messages.push(`${name}: ${describeValue(value)} → ${message}`);
    }
    expect(messages.join("\n")).toMatchInlineSnapshot(`
      "width: 1000.5 → [width] expected a whole number from 8 to 16384, got 1000.5
      width: 1020 → [width] expected a multiple of 8, got 1020. The nearest are 1016 and 1024.
      width: 4 → [width] expected a whole number from 8 to 16384, got 4
      width: 16392 → [width] expected a whole number from 8 to 16384, got 16392
      width: 512 → [width] expected a whole number from 8 to 16384, got "512"
      height: NaN → [height] expected a whole number from 8 to 16384, got NaN
      height: -576 → [height] expected a whole number from 8 to 16384, got -576
      height: null → [height] expected a whole number from 8 to 16384, got null
      height: Array → [height] expected a whole number from 8 to 16384, got a list of 1
      height: 576n → [height] expected a whole number from 8 to 16384, got 576n
      numFrames: 0 → [numFrames] expected a whole number from 1 to 4096, got 0
      numFrames: 4097 → [numFrames] expected a whole number from 1 to 4096, got 4097
      numFrames: 2.5 → [numFrames] expected a whole number from 1 to 4096, got 2.5
      steps: 0 → [steps] expected a whole number from 1 to 10000, got 0
      steps: 10001 → [steps] expected a whole number from 1 to 10000, got 10001
      fps: 0 → [fps] expected a whole number from 1 to 240, got 0
      fps: 23.976 → [fps] expected a whole number from 1 to 240, got 23.976
      motionBucketId: -1 → [motionBucketId] expected a number from 0 to 1000, got -1
      noiseAugStrength: Infinity → [noiseAugStrength] expected a number from 0 to 100, got Infinity
      minGuidance: 1 → [minGuidance] expected a number from 0 to 1000, got "1"
      maxGuidance: -2 → [maxGuidance] expected a number from 0 to 1000, got -2
      guidance: linaer → [guidance] expected one of linear, triangle, got "linaer"
      guidance: null → [guidance] expected one of linear, triangle, got null
      seed: -1 → [seed] expected a whole number from 0 to 2^64 − 1, got -1
      seed: 1.5 → [seed] expected a whole number from 0 to 2^64 − 1, got 1.5
      seed: 18446744073709551616n → [seed] expected a whole number from 0 to 2^64 − 1, got 18446744073709551616n
      seed: 1152921504606847000 → [seed] expected a bigint from 2^53 on, where numbers are not exact, got 1152921504606847000. Write it with an n at its end.
      seed: NaN → [seed] expected a whole number from 0 to 2^64 − 1, got NaN
      seed: 42 → [seed] expected a whole number from 0 to 2^64 − 1, got "42"
      sampler: eulre → [sampler] expected one of SAMPLERS, got "eulre". The nearest name is euler.
      sampler: 3 → [sampler] expected one of SAMPLERS, got 3
      outputType: latents → [outputType] expected one of video, latent, got "latents"
      outputType: 1 → [outputType] expected one of video, latent, got 1
      latents: Array → [latents] expected a Float32Array of unit noise, got a list of 2
      onStepEnd: true → [onStepEnd] expected a function, got true
      sampler:  → [sampler] expected one of SAMPLERS, got "". The nearest name is lcm.
      sigmas: 5 → [sigmas] expected a list of numbers, the noise levels, got 5
      sigmas: Array → [sigmas] expected a list of numbers, the noise levels, got a list of 3
      sigmas: Array → [sigmas] expected a list of numbers, the noise levels, got a list of 2
      sigmas: Array → [sigmas] expected a list of numbers, the noise levels, got a list of 0
      decodeChunk: 0 → [decodeChunk] expected a whole number from 1 to 4096, got 0
      decodeChunk: null → [decodeChunk] expected a whole number from 1 to 4096, got null
      isolateDecodeChunks: yes → [isolateDecodeChunks] expected true or false, got "yes"
      stepNoise: gpu → [stepNoise] expected one of cpu, cuda, got "gpu"
      memory: lots → [memory] expected one of full, low, lowest, got "lots"
      previewEvery: 0 → [previewEvery] expected a whole number from 1 to 10000, got 0
      onProgress: true → [onProgress] expected a function, got true
      onPreview: Object → [onPreview] expected a function, got an object
      signal: AbortController → [signal] expected an AbortSignal, got an object. Pass the signal of an AbortController.
      signal: null → [signal] expected an AbortSignal, got null. Pass the signal of an AbortController."
    `);
  });

  it("of an unknown name are refused with the known ones and the nearest", async () => {
    const messages = await Promise.all(UNKNOWN.map(async (options) => (await failureOf(() => check(options))).message));
    expect(messages.join("\n")).toMatchInlineSnapshot(`
      "[generate] expected options out of image, width, height, autoSize, fit, focus, numFrames, clipFrames, overlap, holdColours, pastFrames, lastImage, loop, boomerang, interpolation, steps, fps, motionBucketId, noiseAugStrength, minGuidance, maxGuidance, guidance, guidanceMinSigma, guidanceMaxSigma, featureInterval, skipThreshold, fast, sampler, sigmas, seed, stepNoise, latents, outputType, memory, decodeChunk, isolateDecodeChunks, resume, keepState, signal, onProgress, onStepEnd, onFrames, onPreview, onWarning, previewEvery, profiler, got "numFrame". The nearest name is numFrames.
      [generate] expected options out of image, width, height, autoSize, fit, focus, numFrames, clipFrames, overlap, holdColours, pastFrames, lastImage, loop, boomerang, interpolation, steps, fps, motionBucketId, noiseAugStrength, minGuidance, maxGuidance, guidance, guidanceMinSigma, guidanceMaxSigma, featureInterval, skipThreshold, fast, sampler, sigmas, seed, stepNoise, latents, outputType, memory, decodeChunk, isolateDecodeChunks, resume, keepState, signal, onProgress, onStepEnd, onFrames, onPreview, onWarning, previewEvery, profiler, got "toString". The nearest name is boomerang."
    `);
  });

  it.each([undefined, null, 3, "a.png"])("that are no object at all (%s) are refused", async (options) => {
    const error = await failureOf(() => checkOptions(options as unknown as GenerateOptions, DEFAULTS, 8));
    expect(error.message).toMatch(/^\[generate\] expected an object of options, got /);
  });
});

describe("right options", () => {
  it("with an interval that ends before it begins are refused", () => {
    expect(() => check({ guidanceMinSigma: 5, guidanceMaxSigma: 2 })).toThrow(
      "[guidanceMinSigma] expected at most guidanceMaxSigma, which is 2, got 5",
    );
  });

  it("get the model's defaults where they say nothing", () => {
    expect(check({ seed: 5 })).toEqual({
      ...DEFAULTS,
      ...{ autoSize: false, fit: "cover", focus: "center" },
      ...{
        guidanceMinSigma: undefined,
        guidanceMaxSigma: undefined,
        featureInterval: 1,
        skipThreshold: 0,
        fast: false,
      },
      ...{ overlap: 4, holdColours: 1, loop: false, boomerang: false, interpolation: "none" },
      guidance: "linear",
      seed: 5n,
      sampler: undefined,
      sigmas: undefined,
      decodeChunk: undefined,
      isolateDecodeChunks: false,
      memory: "full",
      outputType: "video",
      previewEvery: 5,
      resume: undefined,
      keepState: false,
      stepNoise: "cpu",
    });
  });

  it("may be undefined one by one", () => {
    const names = ["width", "numFrames", "steps", "sampler", "signal", "onProgress", "decodeChunk", "guidance", "seed"];
    const options = check(Object.fromEntries(names.map((name) => [name, undefined])));
    expect(options).toMatchObject({ ...DEFAULTS, guidance: "linear", previewEvery: 5 });
    expect(options.seed).toBeLessThan(2n ** 32n);
  });

  it("take the bounds of every range", () => {
    for (const options of [
      { width: 8, height: 16384, numFrames: 1, steps: 1, fps: 1, motionBucketId: 0, noiseAugStrength: 0, seed: 0 },
      { numFrames: 4096, steps: 10_000, fps: 240, motionBucketId: 1000, noiseAugStrength: 100, seed: 2n ** 64n - 1n },
      { minGuidance: 0, maxGuidance: 1000, previewEvery: 10_000, seed: Number.MAX_SAFE_INTEGER },
    ])
      expect(check(options)).toMatchObject({ ...options, seed: BigInt(options.seed) });
  });

  it("leave the steps to the sigmas unless both are given", () => {
    const sigmas = [10, 1, 0];
    expect(check({ sigmas })).toMatchObject({ sigmas, steps: undefined });
    expect(check({ sigmas, steps: 2 })).toMatchObject({ sigmas, steps: 2 });
    expect(check({ sigmas: Float32Array.from(sigmas) }).sigmas).toEqual(sigmas);
  });

  it("decode at most all frames at a time", () => {
    expect(check({ numFrames: 3, decodeChunk: 8 }).decodeChunk).toBe(3);
    expect(check({ numFrames: 30, decodeChunk: 8 }).decodeChunk).toBe(8);
  });

  it("draw another seed each time", () => {
    const seeds = new Set(Array.from({ length: 20 }, () => check({}).seed));
    expect(seeds.size).toBeGreaterThan(15);
  });

  it("have sides that suit the autoencoder", async () => {
    const options = { image: "a.png", width: 36, height: 4 };
    expect(checkOptions(options, DEFAULTS, 4)).toMatchObject({ width: 36, height: 4 });
    const error = await failureOf(() => checkOptions({ image: "a.png", width: 36 }, DEFAULTS, 16));
    expect(error.message).toBe("[width] expected a multiple of 16, got 36. The nearest are 32 and 48.");
  });
});
