import { openDevice } from "@vd/kernels-native";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { CausalVideoAutoencoder, posterior, type StreamPlan } from "../../src/index";
import { countedDevice } from "../support/counted-device";
import { randomWeights } from "../support/random-weights";
import { collect, cut, inTurns, noiseClip, openSmall, SMALL } from "./support";

let vae: CausalVideoAutoencoder;
beforeAll(async () => {
  vae = await openSmall();
});
afterAll(() => vae.close());

const LATENTS = noiseClip([3, 4, 4, 4]);
const FRAMES = noiseClip([5, 32, 32, 3]);

it("refuses ways to cut the work that would never end or that mean nothing", async () => {
  const plans: readonly unknown[] = [
    { ...inTurns(1, 1, 4), stripHeight: 64 },
    cut(0, 1),
    cut(1.5, 1),
    cut(1, 0),
    cut(1, 1, 1),
    cut(1, 1, -1),
    inTurns(1, 1, 0),
    {},
    null,
  ];
  for (const plan of plans)
    await expect(vae.decode(LATENTS, { plan: plan as StreamPlan })).rejects.toMatchObject({ code: "attr" });
  const both = await vae.plan({ height: 32, width: 32 });
  await expect(vae.decode(LATENTS, { plan: both as never })).rejects.toThrow(/Give `decode` of what plan/);
});

it("refuses noise that is too short or not finite instead of handing NaN on", async () => {
  const noises: readonly unknown[] = [
    () => [1, 2],
    (count: number) => new Float32Array(count).fill(Number.NaN),
    () => undefined,
    7,
  ];
  for (const noise of noises) {
    const error = await collect(vae.encodeStream(FRAMES, { noise: noise as never })).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: "VdError", message: expect.stringContaining("[noise]") });
  }
  expect(() => posterior(Float32Array.of(0, 0), 1).sample([])).toThrow(/\[noise\] expected 1 numbers, got 0/);
});

it("refuses noise that is none wherever options take it, and draws nothing where the whole clip is encoded", async () => {
  const message = "[noise] expected a function, got 7";
  for (const call of [vae.encode(FRAMES, { noise: 7 } as never), vae.decode(LATENTS, { noise: 7 } as never)])
    await expect(call).rejects.toMatchObject({ code: "attr", message: expect.stringContaining(message) });
  const noise = vi.fn((count: number) => new Float32Array(count));
  expect(await vae.encode(FRAMES, { noise } as never)).toMatchObject({ values: (await vae.encode(FRAMES)).mode });
  expect(noise).not.toHaveBeenCalled();
});

it("names what is no clip among pieces", async () => {
  for (const wrong of [null, 7, undefined])
    await expect(collect(vae.decodeStream([LATENTS, wrong as never]))).rejects.toMatchObject({ code: "shape" });
});

it("checks a configuration that code gives", async () => {
  for (const [key, value] of Object.entries({
    ...{ normGroups: 7, temporalLevels: 9, layersPerBlock: 0, latentChannels: 0.5 },
    ...{ blockOutChannels: [] },
  }))
    await expect(
      CausalVideoAutoencoder.withRandomWeights({ config: { ...SMALL, [key]: value } }),
    ).rejects.toMatchObject({ code: "attr" });
});

it("decodes what encoding gives, piece by piece, as it is", async () => {
  const latents = await vae.encode(FRAMES);
  expect(latents.values).toEqual(latents.mode);
  const frames: number[] = [];
  for await (const { dims } of vae.decodeStream(latents)) frames.push(dims[0]);
  expect(frames).toEqual([1, 4]);
});

/** So many of the blocks that a decode takes are refused, each in a run of its own. */
const BLOCKS_TRIED = 6;

describe("a device that runs out of memory", () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each([
    ["whole pictures", cut(1, 2)],
    ["strips", cut(1, 2, 10)],
    ["turns", inTurns(1, 2, 2)],
  ])("fails the stream, whichever block is refused, holds nothing, and works again: %s", async (_, plan) => {
    // So a clip has several turns.
    vi.spyOn(process, "availableMemory").mockReturnValue(0);
    const { device, counted } = countedDevice(openDevice("cpu", { threads: 2 }));
    const latents = noiseClip([3, 16, 2, 4]);
    const own = await CausalVideoAutoencoder.fromWeights(randomWeights().weights, SMALL, { device });
    const whole = await own.decode(latents, { plan });
    await own.close();
    expect(counted.now).toBe(0);
    const numBlocks = counted.count;
    expect(numBlocks).toBeGreaterThan(1);
    // Some of them from the first on, all with VD_LONG.
    const step = process.env.VD_LONG ? 1 : Math.ceil(numBlocks / BLOCKS_TRIED);
    for (let block = 0; block < numBlocks; block += step) {
      Object.assign(counted, { count: 0, refused: new Set([block]) });
      const broken = await CausalVideoAutoencoder.fromWeights(randomWeights().weights, SMALL, { device });
      await expect(broken.decode(latents, { plan })).rejects.toMatchObject({ code: "memory" });
      counted.refused = new Set();
      expect((await broken.decode(latents, { plan })).dims).toEqual(whole.dims);
      await broken.close();
      expect([counted.now, counted.host]).toEqual([0, 0]);
    }
  });
});

it("refuses options and plans that are none in sentences", async () => {
  const { signal } = new AbortController();
  const wrong: readonly [unknown, RegExp][] = [
    [null, /\[options\] expected an object, got null/],
    [{ signal: 5 }, /\[signal\] expected an AbortSignal, got 5/],
    [{ maxBytes: 1e9, signal }, /\[maxBytes\] expected one of signal, plan, lastFrames, noise, got an unknown option/],
  ];
  for (const [options, message] of wrong) {
    await expect(vae.encode(FRAMES, options as never)).rejects.toThrow(message);
    await expect(vae.decode(LATENTS, options as never)).rejects.toThrow(message);
    await expect((async () => collect(vae.encodeStream(FRAMES, options as never)))()).rejects.toThrow(message);
  }
  await expect(vae.plan(undefined as never)).rejects.toThrow(/\[plan\] \[options\] expected an object, got undefined/);
  await expect(vae.plan({ height: 32, width: 32, maxBytes: "8e9" as never })).rejects.toThrow(/got 8e9/);
  await expect(vae.plan({ height: 32, width: 32, maxBytes: 1 })).rejects.toThrow(
    /expected .* MiB or more .* got 1 byte\./,
  );
  await expect(CausalVideoAutoencoder.fromPretrained(undefined as never)).rejects.toMatchObject({ code: "attr" });
});

it("refuses pictures that no clip can have before it cuts them into strips: planning them took all memory", async () => {
  for (const height of [65_544, 8e9, Number.POSITIVE_INFINITY])
    await expect(vae.plan({ height, width: 8 })).rejects.toMatchObject({
      ...{ code: "shape", message: expect.stringContaining("[height] expected a multiple of 8 of at most 65536") },
    });
});
