import { isVdError } from "@vd/kernels-native";
import { afterAll, expect, it } from "vitest";
import { framesOf } from "../../src/causal-video/clip";
import { DirectionSessions } from "../../src/causal-video/direction-sessions";
import { cut, noiseClip, openSmall, worstDifference } from "./support";

const vae = await openSmall();
afterAll(() => vae.close());

const SIZE = { height: 64, width: 96 };

it("less memory gives smaller pieces, then strips, then an error that says how much is needed", async () => {
  const free = await vae.plan(SIZE);
  expect(free.decode).toMatchObject({ latentsPerRun: 4, hostBytes: 0 });
  const seen = new Set<string>();
  for (let maxBytes = free.decode.bytes; ; maxBytes = Math.floor(maxBytes * 0.8)) {
    try {
      const { decode, encode } = await vae.plan({ ...SIZE, maxBytes });
      expect(Math.max(decode.bytes, encode.bytes)).toBeLessThanOrEqual(maxBytes);
      seen.add(`${decode.latentsPerRun}/${decode.framesAtOnce}/${decode.stripHeight}`);
    } catch (error) {
      if (!isVdError(error)) throw error;
      expect(error.code).toBe("memory");
      expect(error.message).toMatch(/MiB or more for frames of 96 × 64, got [\d.]+ MiB/);
      break;
    }
  }
  expect(seen.size).toBeGreaterThan(3);
});

it("what is planned is what a session takes, and does not grow with the clip's length", async () => {
  const { decode } = await vae.plan({ height: 16, width: 24 });
  const { model, device, dtype } = vae;
  const sessions = new DirectionSessions("decode", { model, device, dtype, isClosed: () => false });
  const session = await sessions.acquire({ part: "all", height: 2, width: 3, latentsPerRun: 4, framesAtOnce: 16 });
  const sizes: number[] = [];
  const clip = noiseClip([4, 2, 3, 4]);
  const run = async (latents: number, begins: boolean) =>
    (await session.start({ x: framesOf(clip, 0, latents), latents, begins })).result;
  await run(1, true);
  for (let i = 0; i < 5; i++) {
    await run(4, false);
    sizes.push(session.bytes);
  }
  await run(3, false);
  expect(new Set(sizes).size).toBe(1);
  const weights = decode.bytes - session.bytes;
  expect(session.bytes).toBeLessThan(decode.bytes);
  expect(weights).toBeGreaterThan(0);
  await session.free();
});

it("refuses sizes that cannot be", async () => {
  for (const [height, width] of [
    [63, 64],
    [64, 0],
    [Number.NaN, 64],
  ] as const)
    await expect(vae.plan({ height, width })).rejects.toMatchObject({ code: "shape" });
  await expect(vae.plan({ ...SIZE, maxBytes: 0 })).rejects.toMatchObject({ code: "attr" });
});

it("an autoencoder with a limit decodes within it, to the same frames", async () => {
  const clip = noiseClip([3, 4, 4, 4]);
  const whole = await vae.decode(clip, { plan: cut(4, 16) });
  const { decode } = await vae.plan({ height: 32, width: 32 });
  const maxBytes = Math.floor(decode.bytes * 0.6);
  const small = (await vae.plan({ height: 32, width: 32, maxBytes })).decode;
  expect(small.latentsPerRun).toBeLessThan(4);
  expect(small.stripHeight).toBeUndefined();
  const frames = await vae.decode(clip, { plan: small });
  expect(worstDifference(frames.values, whole.values)).toBeLessThanOrEqual(1e-5);
});
