import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Device, openDevice, VdError } from "@vd/kernels-native";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SvdAutoencoder } from "../../src/index";
import { noise } from "../support/run-module";

const TINY = "models/tiny-svd";
const device = openDevice("cpu", { threads: 2 });
let vae: SvdAutoencoder;
beforeAll(async () => {
  vae = await SvdAutoencoder.fromPretrained(TINY, { device });
});
afterAll(() => vae.close());

const LATENTS = { numFrames: 3, width: 4, height: 3, data: noise(3 * 4 * 4 * 3) };
const VIDEO = { numFrames: 3, width: 32, height: 24, data: noise(3 * 32 * 24 * 3).map((x) => Math.tanh(x)) };

/** PSNR of values against others of about [-1,1], in dB. */
function psnr(a: Float32Array, b: Float32Array): number {
  const squares = a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0);
  return 10 * Math.log10((4 * a.length) / squares);
}

/** The device with at most so many bytes for one block. */
function withLimit(limitBytes: number): Device {
  const limited = Object.create(device) as Device;
  limited.allocate = async (bytes: number) => {
    if (bytes <= limitBytes) return device.allocate(bytes);
    throw new VdError({
      code: "memory",
      where: "allocate",
      expected: `${limitBytes} bytes at most`,
      got: String(bytes),
    });
  };
  limited.compile = (...args) => device.compile(...args);
  limited.prepare = () => device.prepare();
  limited.trim = () => device.trim();
  return limited;
}

describe("decoding", () => {
  it("in pieces of any size gives what decoding at once gives", async () => {
    const whole = await vae.decode(LATENTS);
    expect([whole.numFrames, whole.width, whole.height]).toEqual([3, 32, 24]);
    const chunked = await vae.decode(LATENTS, { pieces: { chunkFrames: 2 } });
    expect(psnr(chunked.data, whole.data)).toBeGreaterThan(100);
    const { pieces, peakBytes, hostBytes, message } = await vae.plan(LATENTS, { maxBytes: 3e6 });
    expect(pieces.tiles).toBeDefined();
    expect(peakBytes).toBeLessThanOrEqual(3e6);
    expect(hostBytes).toBeGreaterThan(0);
    expect(message).toMatch(/^3 frames of 32×24 \(latents 4×3\) are decoded in tiles/);
    const parts: number[] = [];
    const tiled = await vae.decode(LATENTS, { pieces, onProgress: (done) => parts.push(done) });
    expect(psnr(tiled.data, whole.data)).toBeGreaterThan(100);
    expect(parts).toEqual(parts.map((_, i) => i));
  });

  it("divides by the scaling factor unless the latents are not scaled", async () => {
    const raw = { ...LATENTS, data: LATENTS.data.map((x) => x / vae.config.scalingFactor) };
    const frames = await vae.decode(raw, { scaled: false });
    expect(psnr(frames.data, (await vae.decode(LATENTS)).data)).toBeGreaterThan(100);
  });

  it("goes on with smaller pieces where the device runs out of memory, and says so", async () => {
    const clip = { ...LATENTS, numFrames: 10, data: noise(10 * 4 * 4 * 3) };
    const whole = await vae.decode(clip);
    const limited = await SvdAutoencoder.fromPretrained(TINY, { device: withLimit(1_500_000) });
    const notices: string[] = [];
    const frames = await limited.decode(clip, { onNotice: (message) => notices.push(message) });
    expect(notices.length).toBeGreaterThan(0);
    expect(notices[0]).toMatch(/^The device ran out of memory decoding whole; it goes on with/);
    expect(psnr(frames.data, whole.data)).toBeGreaterThan(100);
    await limited.close();
    const tiny = await SvdAutoencoder.fromPretrained(TINY, { device: withLimit(1_000) });
    await expect(tiny.decode(LATENTS)).rejects.toMatchObject({ code: "memory" });
    await tiny.close();
  });

  it.each([
    ["dtype", { ...LATENTS, data: Array.from(LATENTS.data) as unknown as Float32Array }],
    ["shape", { ...LATENTS, width: 5 }],
    ["shape", { ...LATENTS, numFrames: 0 }],
    ["attr", { ...LATENTS, data: LATENTS.data.with(7, Number.NaN) }],
    ["attr", { ...LATENTS, data: LATENTS.data.with(7, 1e6) }],
  ] as const)("refuses by %s what cannot be latents", async (code, latents) => {
    await expect(vae.decode(latents)).rejects.toMatchObject({ code });
  });

  it("refuses budgets that nothing fits into, stops with its signal, and ends with close", async () => {
    await expect(vae.plan(LATENTS, { maxBytes: 1_000 })).rejects.toMatchObject({ code: "memory", where: "plan" });
    await expect(vae.plan(LATENTS, { maxBytes: -1 })).rejects.toMatchObject({ code: "attr", where: "maxBytes" });
    await expect(vae.decode(LATENTS, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    const other = await SvdAutoencoder.fromPretrained(`${TINY}/vae`, { device });
    await other.close();
    await expect(other.decode(LATENTS)).rejects.toMatchObject({ code: "unsupported" });
  });
});

describe("encoding", () => {
  it("refuses a limit that not even one frame keeps, and a precision that is none", async () => {
    await expect(vae.encode(VIDEO, { maxBytes: 1_000 })).rejects.toThrow(
      /\[encode\] expected an encode that fits into 1000 bytes, got \d\.\d\d MiB for one frame of 32×24/,
    );
    await expect(vae.encode(VIDEO, { precision: "int4" as never })).rejects.toMatchObject({ code: "attr" });
    await expect(SvdAutoencoder.fromPretrained("models/tiny-svd", { memory: "tiny" as never })).rejects.toThrow(
      /\[memory\] expected one of full, low, lowest, got tiny/,
    );
  });

  it("a clip gives the same latents whatever the number of frames at a time", async () => {
    const whole = await vae.encode(VIDEO);
    expect([whole.numFrames, whole.width, whole.height, whole.data.length]).toEqual([3, 4, 3, 3 * 4 * 4 * 3]);
    const parts = await vae.encode(VIDEO, { maxBytes: 2.4e6 }); // room for one frame
    expect(psnr(parts.data, whole.data)).toBeGreaterThan(100);
    const raw = await vae.encode(VIDEO, { scaled: false });
    expect(raw.data[5]! * vae.config.scalingFactor).toBeCloseTo(whole.data[5]!, 5);
  });

  it("draws samples around the mode: the same ones for a seed, on the device or not", async () => {
    const seeded = await vae.encode(VIDEO, { latents: "sample", seed: 3 });
    const other = await vae.encode(VIDEO, { latents: "sample", seed: 4 });
    expect(seeded.data).not.toEqual(other.data);
    const mode = await vae.encode(VIDEO);
    const none = await vae.encode(VIDEO, { latents: "sample", noise: new Float32Array(mode.data.length) });
    expect(psnr(none.data, mode.data)).toBeGreaterThan(120);
    vae.enableWindowsBlackwellOptimizations();
    const fused = await vae.encode(VIDEO, { latents: "sample", seed: 3 });
    const fusedMode = await vae.encode(VIDEO);
    vae.disableOptimizations();
    expect(psnr(fused.data, seeded.data)).toBeGreaterThan(100);
    expect(psnr(fusedMode.data, mode.data)).toBeGreaterThan(100);
  });

  it.each([
    ["shape", { ...VIDEO, width: 31 }],
    ["attr", { ...VIDEO, data: VIDEO.data.map((x) => 127.5 * (x + 1)) }],
    ["attr", { ...VIDEO, data: VIDEO.data.with(0, Number.POSITIVE_INFINITY) }],
    ["dtype", { ...VIDEO, data: new Uint8Array(VIDEO.data.length) as unknown as Float32Array }],
  ] as const)("refuses by %s what cannot be frames", async (code, video) => {
    await expect(vae.encode(video)).rejects.toMatchObject({ code });
  });

  it("goes on with fewer frames where the device runs out of memory", async () => {
    const limited = await SvdAutoencoder.fromPretrained(TINY, { device: withLimit(1_200_000) });
    const notices: string[] = [];
    const latents = await limited.encode(VIDEO, { onNotice: (message) => notices.push(message) });
    expect(notices[0]).toMatch(/encoding 3 frames at a time; it goes on with 2/);
    expect(psnr(latents.data, (await vae.encode(VIDEO)).data)).toBeGreaterThan(100);
    await limited.close();
  });
});

it("options that are none are refused by all three calls, and one object serves them", async () => {
  const wrong: readonly [unknown, RegExp][] = [
    [null, /\[options\] expected an object, got null/],
    [{ maxbytes: 4e9 }, /\[maxbytes\] expected one of maxBytes, .*, got an unknown option/],
    [{ signal: 5 }, /\[signal\] expected an AbortSignal, got 5/],
    [{ scaled: "no" }, /\[scaled\] expected true or false, got no/],
    [{ onNotice: 5 }, /\[onNotice\] expected a function, got 5/],
  ];
  for (const [options, message] of wrong) {
    await expect(vae.plan(LATENTS, options as never)).rejects.toThrow(message);
    await expect(vae.decode(LATENTS, options as never)).rejects.toThrow(message);
    await expect(vae.encode(VIDEO, options as never)).rejects.toThrow(message);
  }
  const shared = { maxBytes: 1e9, scaled: false, latents: "mode", onNotice: () => {} } as const;
  expect((await vae.plan(LATENTS, shared)).pieces).toEqual({});
  expect((await vae.encode(VIDEO, shared)).numFrames).toBe(VIDEO.numFrames);
});

it("options are taken as they are when a call is made, not when its turn comes", async () => {
  const first = vae.decode(LATENTS);
  const [decoding, encoding, planning] = [{ scaled: false }, { scaled: false }, { maxBytes: 2 ** 30 }];
  const calls = [vae.decode(LATENTS, decoding), vae.encode(VIDEO, encoding), vae.plan(LATENTS, planning)] as const;
  for (const options of [decoding, encoding]) options.scaled = true;
  planning.maxBytes = 1;
  const [frames, latents] = await Promise.all(calls);
  await first;
  expect(frames).toEqual(await vae.decode(LATENTS, { scaled: false }));
  expect(latents).toEqual(await vae.encode(VIDEO, { scaled: false }));
});

it("a call that is aborted while it waits for its turn ends at once, and the next one still waits", async () => {
  const order: string[] = [];
  const controller = new AbortController();
  const first = vae.decode(LATENTS).then(() => order.push("first"));
  const second = vae.decode(LATENTS, { signal: controller.signal }).catch(({ code }) => order.push(code));
  const third = vae.decode(LATENTS).then(() => order.push("third"));
  controller.abort();
  await Promise.all([first, second, third]);
  expect(order).toEqual(["cancelled", "first", "third"]);
});

it("holds no results of calls that are done", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const results: WeakRef<object>[] = [];
  for (let i = 0; i < 4; i++) {
    results.push(new WeakRef(await vae.decode(LATENTS)));
    results.push(new WeakRef(await vae.encode(VIDEO)));
  }
  await expect
    .poll(async () => {
      collect();
      await setTimeout(1);
      return results.filter((result) => result.deref() !== undefined).length;
    })
    .toBeLessThanOrEqual(1);
});
