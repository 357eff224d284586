import { readFileSync } from "node:fs";
import { openDevice } from "@vd/kernels-native";
import { decodeStored, layoutGraph, Plan, Weights } from "@vd/tensor";
import { expect, it } from "vitest";
import { chooseDecodePieces } from "../../src/decoding/choose-pieces";
import { decodeInTiles, joinedFrames, type KeptMaps, type MapBehind } from "../../src/decoding/decode-tiles";
import { decodeStage, type StageRunner, type VaeStage } from "../../src/decoding/stages";
import { parseVaeConfig, temporalVae } from "../../src/index";
import { noise } from "../support/run-module";

const dir = "models/tiny-svd/vae";
const config = parseVaeConfig(JSON.parse(readFileSync(`${dir}/config.json`, "utf8")));
const vae = temporalVae(Weights.open(dir), config);
const device = openDevice("cpu", { threads: 2 });
const SHAPE = { numFrames: 3, height: 6, width: 5, dtype: "f32" as const };
const latents = noise(3 * 4 * 6 * 5);

const run: StageRunner = async (stage, body) => {
  const plan = await Plan.load(device, layoutGraph(stage.build, { dtype: stage.dtype }));
  try {
    return await body(plan);
  } finally {
    plan.freeSync();
  }
};
const bytesOf = async ({ build, dtype }: VaeStage) => {
  const { peakBytes, weightBytes } = layoutGraph(build, { dtype }).memory;
  return peakBytes + weightBytes;
};

/** A device that counts what maps take of it. */
function countedMemory() {
  const held = { now: 0, most: 0 };
  const onDeviceBytes = (bytes: number) => {
    held.now += bytes;
    held.most = Math.max(held.most, held.now);
  };
  return { memory: { device, onDeviceBytes }, held };
}

/** PSNR against frames in [-1,1], in dB. */
function psnr(a: Float32Array, b: Float32Array): number {
  const squares = a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0);
  return 10 * Math.log10((4 * a.length) / squares);
}

it("decodes in tiles of any size to what it decodes at once: there are no seams", async () => {
  const whole = await run(decodeStage(vae, SHAPE, undefined), async (plan) => {
    await plan.write("latents", latents);
    await plan.run();
    return { frames: await plan.read("frames"), levels: await plan.readBytes("levels") };
  });
  const numBlocks = vae.blocks.length;
  for (const [numHeadBlocks, frames, rows, held] of [
    [2, 2, 5, [0, 0]],
    [11, 1, 20, [1, 2]],
    [8, 1, 20, [3, 3]],
  ] as const) {
    const onDevice = { taken: held[0], made: held[1] };
    // Rooms of changing size, so that frames move.
    const blocks = Array.from({ length: numBlocks - numHeadBlocks + 1 }, (_, i) => ({
      ...{ frames, rows },
      onDevice: i % 2 === 1 ? { taken: 0, made: 0 } : onDevice,
    }));
    const tiles = { numHeadBlocks, headChunkFrames: 2, blocks };
    const { memory, held: taken } = countedMemory();
    const job = { vae, shape: SHAPE, tiles, latents, ...memory, run };
    const results = await decodeInTiles({ ...job, outputs: ["frames", "levels"] });
    expect(taken.now).toBe(0);
    expect(taken.most > 0).toBe(held[1] > 0);
    const made = decodeStored(joinedFrames(results.get("frames")!), "f32");
    expect(psnr(made, whole.frames)).toBeGreaterThan(100);
    const levels = joinedFrames(results.get("levels")!);
    expect(levels.every((level, i) => Math.abs(level - whole.levels[i]!) <= 1)).toBe(true);
  }
});

it("goes on behind the last block whose map was kept, with the same bits", async () => {
  const numHeadBlocks = 10;
  const onDevice = { taken: 1, made: 2 };
  const blocks = Array.from({ length: vae.blocks.length - numHeadBlocks + 1 }, () => ({
    frames: 2,
    rows: 20,
    onDevice,
  }));
  const { memory, held } = countedMemory();
  const job = { vae, shape: SHAPE, tiles: { numHeadBlocks, headChunkFrames: 2, blocks }, latents, ...memory };
  let numRuns = 0;
  const counted: StageRunner = (stage, body) => {
    numRuns++;
    return run(stage, body);
  };
  let last: MapBehind | undefined;
  const keeping = (most: number): KeptMaps => ({
    last: async () => last,
    keep: async ({ map, numBlocks }) => {
      last = { map, numBlocks };
      if (numBlocks === most) throw new Error("stopped");
    },
  });
  const plain = await decodeInTiles({ ...job, outputs: ["frames"], run: counted });
  const numPlain = numRuns;
  const stopped = decodeInTiles({ ...job, outputs: ["frames"], run: counted, kept: keeping(numHeadBlocks + 1) });
  await expect(stopped).rejects.toThrow("stopped");
  expect(held.now).toBe(0);
  const numBefore = numRuns - numPlain;
  const resumed = await decodeInTiles({ ...job, outputs: ["frames"], run: counted, kept: keeping(Infinity) });
  expect(numRuns - numPlain).toBe(numPlain);
  expect(numBefore).toBeGreaterThan(1);
  expect(joinedFrames(resumed.get("frames")!)).toEqual(joinedFrames(plain.get("frames")!));
});

it("takes less of the device the smaller the budget is", async () => {
  const clip = { ...SHAPE, numFrames: 12 };
  const whole = await bytesOf(decodeStage(vae, clip, undefined));
  const choices: boolean[] = [];
  for (const share of [1, 0.7, 0.3]) {
    const { pieces, bytes, fits } = await chooseDecodePieces(vae, clip, { budgetBytes: share * whole, bytesOf });
    expect(fits).toBe(true);
    expect(bytes).toBeLessThanOrEqual(share * whole);
    choices.push(pieces.tiles !== undefined);
  }
  expect([choices[0], choices.at(-1)]).toEqual([false, true]);
});

it("no frames are joined to nothing", () => {
  expect(joinedFrames({ frames: [], dtype: "u8" } as never)).toEqual(new Uint8Array(0));
});
