import { openDevice } from "@vd/kernels-native";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SvdAutoencoder } from "../../src/index";
import { type Counted, countedDevice } from "../support/counted-device";
import { noise } from "../support/run-module";

/** Blocks that are refused, from the first on; `VD_REFUSALS=100` for the long run. */
const MOST_BLOCKS = Number(process.env.VD_REFUSALS ?? 2);

const TINY = "models/tiny-svd";
const cpu = openDevice("cpu", { threads: 2 });
const LATENTS = { numFrames: 6, width: 6, height: 4, data: noise(6 * 4 * 6 * 4) };
const VIDEO = { numFrames: 6, width: 48, height: 32, data: noise(6 * 48 * 32 * 3).map((x) => Math.tanh(x)) };

/** PSNR of values against others of about [-1,1], in dB. */
function psnr(a: Float32Array, b: Float32Array): number {
  const squares = a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0);
  return squares === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10((4 * a.length) / squares);
}

let vae: SvdAutoencoder;
let counted: Counted;
const others = await SvdAutoencoder.fromPretrained(TINY, { device: cpu });
const [frames, latents] = [await others.decode(LATENTS), await others.encode(VIDEO)];
beforeEach(async () => {
  const own = countedDevice(cpu);
  counted = own.counted;
  vae = await SvdAutoencoder.fromPretrained(TINY, { device: own.device });
});
afterEach(async () => {
  await vae.close();
  vi.restoreAllMocks();
});
afterAll(() => others.close());

describe("what is planned is what is taken", () => {
  it.each([1, 0.7, 0.35])("decoding within %f of what all frames at once take", async (share) => {
    const { wholeBytes } = await vae.plan(LATENTS);
    const maxBytes = Math.ceil(share * wholeBytes);
    const { peakBytes } = await vae.plan(LATENTS, { maxBytes });
    expect(peakBytes).toBeLessThanOrEqual(maxBytes);
    counted.most = 0;
    const decoded = await vae.decode(LATENTS, { maxBytes });
    expect(psnr(decoded.data, frames.data)).toBeGreaterThan(100);
    expect(counted.most).toBeLessThanOrEqual(peakBytes);
    expect(peakBytes).toBeLessThanOrEqual(1.15 * counted.most);
    expect(counted.now).toBe(0);
  });

  it.each([6, 4, 2, 1])("encoding within what %d frames at a time take", async (numFrames) => {
    await vae.encode({ ...VIDEO, numFrames, data: VIDEO.data.subarray(0, numFrames * 48 * 32 * 3) });
    const maxBytes = counted.most;
    counted.most = 0;
    const encoded = await vae.encode(VIDEO, { maxBytes });
    expect(psnr(encoded.data, latents.data)).toBeGreaterThan(100);
    expect(counted.most).toBeLessThanOrEqual(maxBytes);
    expect(1.15 * counted.most).toBeGreaterThanOrEqual(maxBytes);
    expect(counted.now).toBe(0);
  });
});

describe("a device that runs out of memory", () => {
  /** How many blocks a call asks for where nothing is refused. */
  async function blocksOf(call: () => Promise<unknown>): Promise<number> {
    counted.count = 0;
    await call();
    return counted.count;
  }

  /** Refuses blocks, and returns what a call gives and what was told meanwhile. */
  async function refusing(
    refused: readonly number[],
    call: (onNotice: (text: string) => void) => Promise<{ data: Float32Array }>,
  ) {
    Object.assign(counted, { count: 0, refused: new Set(refused) });
    const notices: string[] = [];
    const { data } = await call((text) => void notices.push(text));
    counted.refused = new Set();
    return { data, notices };
  }

  it.each([
    ["at once", {}],
    ["over some frames at a time", { pieces: { chunkFrames: 3 } }],
    ["in tiles", { maxBytes: 0.45 }],
  ] as const)("decodes the same frames in smaller pieces, whichever block is refused: %s", async (_, how) => {
    const { wholeBytes } = await vae.plan(LATENTS);
    const options = "maxBytes" in how ? { maxBytes: Math.ceil(how.maxBytes * wholeBytes) } : how;
    const numBlocks = await blocksOf(() => vae.decode(LATENTS, options));
    expect(counted.now).toBe(0);
    for (let block = 0; block < Math.min(numBlocks, MOST_BLOCKS); block++)
      for (const refused of [[block], [block, block + 1]]) {
        const { data, notices } = await refusing(refused, (onNotice) => vae.decode(LATENTS, { ...options, onNotice }));
        expect(psnr(data, frames.data)).toBeGreaterThan(100);
        expect(notices.length).toBeGreaterThan(0);
        for (const text of notices) expect(text).toMatch(/^The device ran out of memory decoding .*; it goes on with /);
        expect(counted.now).toBe(0);
      }
  });

  it("encodes the same latents over fewer frames at a time, whichever block is refused", async () => {
    const numBlocks = await blocksOf(() => vae.encode(VIDEO));
    for (let block = 0; block < numBlocks; block++)
      for (const refused of [[block], [block, block + 1]]) {
        const { data, notices } = await refusing(refused, (onNotice) => vae.encode(VIDEO, { onNotice }));
        expect(psnr(data, latents.data)).toBeGreaterThan(100);
        expect(notices.length).toBeGreaterThan(0);
        expect(counted.now).toBe(0);
      }
  });

  it("that has none for the smallest pieces says so, leaves nothing, and works again", async () => {
    const all = Array.from({ length: 1000 }, (_, i) => i);
    for (const call of [() => vae.decode(LATENTS), () => vae.encode(VIDEO)]) {
      Object.assign(counted, { count: 0, refused: new Set(all) });
      await expect(call()).rejects.toMatchObject({ code: "memory" });
      expect(counted.now).toBe(0);
      counted.refused = new Set();
      expect((await call()).data.length).toBeGreaterThan(0);
    }
  });
});
