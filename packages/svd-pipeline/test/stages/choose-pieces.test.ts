import type { Device } from "@vd/kernels-native";
import { beforeAll, describe, expect, it } from "vitest";
import { openModelFolder } from "../../src/index";
import { type Models, makeModels } from "../../src/opening/models";
import { choosePieces } from "../../src/stages/choose-pieces";
import { decodeStage, type StageShape } from "../../src/stages/definitions";
import { StageLayouts } from "../../src/stages/stage";
import { TINY_SVD } from "../support/tiny-model";

const SHAPE: StageShape = { numFrames: 14, width: 128, height: 128, factor: 8, rows: 2, decodeChunk: undefined };
let models: Models;
const layouts = new StageLayouts();
beforeAll(async () => {
  models = makeModels(await openModelFolder(TINY_SVD));
});

const bytesAt = (decodeChunk: number | undefined) => {
  const { memory } = layouts.of(decodeStage(models, { ...SHAPE, decodeChunk }));
  return memory.peakBytes + memory.weightBytes;
};

/** A GPU as far as the choice looks at it. */
const gpu = (freeBytes: number, residentBytes = 0) =>
  ({
    kind: "cuda",
    memory: async () => ({ freeBytes, residentBytes, totalBytes: 2 * freeBytes }),
  }) as unknown as Device;

const pieces = (device: Device, residentBytes = 0) =>
  choosePieces(models, SHAPE, { device, memory: "full", layouts, residentBytes });
const choose = async (device: Device, residentBytes = 0) => (await pieces(device, residentBytes)).chunkFrames;

describe("the frames that are decoded at a time", () => {
  it("are all of them where the memory suffices", async () => {
    expect(await choose(gpu(2 * bytesAt(undefined)))).toBeUndefined();
  });

  it.each([0.98, 0.9, 0.8])("fit into %f of what all would take, and one more chunk less would not", async (share) => {
    const free = share * bytesAt(undefined);
    const chunk = (await choose(gpu(free)))!;
    expect(bytesAt(chunk)).toBeLessThanOrEqual(free);
    const larger = [2, 3, 4, 5, 7, 14].find((length) => length > chunk)!;
    expect(bytesAt(larger === 14 ? undefined : larger)).toBeGreaterThan(0.96 * free);
  });

  it("leave room for weights that stay, which are not counted as taken", async () => {
    const [whole, weights] = [bytesAt(undefined), 50e6];
    expect(await choose(gpu(1.1 * whole, weights), weights)).toBeUndefined();
    expect(await choose(gpu(0.9 * whole, weights), weights)).toBeGreaterThan(0);
  });

  it("see tiles of the picture where no number of frames at a time would do", async () => {
    const { chunkFrames, tiles } = await pieces(gpu(0.2 * bytesAt(undefined)));
    expect(chunkFrames).toBeUndefined();
    expect(tiles!.blocks.length).toBeGreaterThan(0);
  });

  it("are all of them where not even tiles would do, so that the device says what is missing", async () => {
    expect(await pieces(gpu(0.01 * bytesAt(undefined)))).toEqual({});
  });
});
