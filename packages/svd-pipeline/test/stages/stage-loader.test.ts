import { Device } from "@vd/kernels-native";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { openModelFolder } from "../../src/index";
import { type Models, makeModels } from "../../src/opening/models";
import { conditionStage, decodeStage, encodeImageStage, type StageShape } from "../../src/stages/definitions";
import { StageLayouts } from "../../src/stages/stage";
import { StageLoader } from "../../src/stages/stage-loader";
import { TINY_SVD } from "../support/tiny-model";

const SHAPE: StageShape = { numFrames: 2, width: 64, height: 64, factor: 8, rows: 2, decodeChunk: undefined };
const device = Device.cpu({ threads: 1 });
const layouts = new StageLayouts();
let models: Models;
beforeAll(async () => {
  models = makeModels(await openModelFolder(TINY_SVD));
});

const loaderOf = (signal?: AbortSignal) =>
  new StageLoader({ device, layouts, tuning: undefined, files: [], trims: false, signal });

describe("a stage", () => {
  it("that was loaded ahead is the one that runs, and is freed after it", async () => {
    const loader = loaderOf();
    const stage = encodeImageStage(models, SHAPE);
    loader.loadAhead(stage);
    const image = new Float32Array(3 * 64 * 64).fill(0.5);
    const encoded = () =>
      loader.run(stage, async (plan) => {
        await plan.write("image", image);
        await plan.run();
        return plan.read("moments");
      });
    const [ahead, inTurn] = [await encoded(), await encoded()];
    expect(ahead).toEqual(inTurn);
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("counts while it is loaded: two at a time are more than each on its own", async () => {
    const [encode, decode] = [encodeImageStage(models, SHAPE), decodeStage(models, SHAPE)];
    const alone = loaderOf();
    for (const stage of [encode, decode]) await alone.run(stage, async () => {});
    const together = loaderOf();
    together.loadAhead(decode);
    await together.run(encode, () => together.run(decode, async () => {}));
    const own = (stage: typeof encode) => layouts.of(stage).memory.peakBytes;
    expect(together.memory.peakBytes).toBeGreaterThan(own(encode) + own(decode));
    expect(together.memory.peakBytes).toBeGreaterThan(alone.memory.peakBytes);
    expect(together.memory.ownBytes).toBe(0);
  });

  it("that nobody came for is freed, and nothing is loaded after that", async () => {
    const loader = loaderOf();
    for (const stage of [encodeImageStage(models, SHAPE), conditionStage(models, SHAPE)]) loader.loadAhead(stage);
    await loader.dropAhead();
    expect(loader.memory.ownBytes).toBe(0);
    loader.loadAhead(decodeStage(models, SHAPE));
    await loader.dropAhead();
    expect(loader.memory.peakBytes).toBeLessThan(layouts.of(decodeStage(models, SHAPE)).memory.peakBytes);
  });

  it("that could not be loaded ahead is loaded in its turn, and its error is told there", async () => {
    const loader = loaderOf();
    let calls = 0;
    const stage = encodeImageStage(models, SHAPE);
    const once = {
      ...stage,
      key: "fails once",
      build: (g: Parameters<typeof stage.build>[0]) => {
        if (++calls === 1) throw new Error("not yet");
        return stage.build(g);
      },
    };
    loader.loadAhead(once);
    expect(await loader.run(once, async () => "ran")).toBe("ran");
    expect(calls).toBe(2);
    const never = { ...stage, key: "never fits", dtype: "u8" as const };
    loader.loadAhead(never);
    expect((await failureOf(loader.run(never, async () => {}))).code).toBe("dtype");
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("is not loaded once the generation is cancelled", async () => {
    const controller = new AbortController();
    const loader = loaderOf(controller.signal);
    controller.abort();
    const stage = { ...decodeStage(models, SHAPE), key: "cancelled" };
    loader.loadAhead(stage);
    expect((await failureOf(loader.run(stage, async () => {}))).code).toBe("cancelled");
    expect(loader.memory.peakBytes).toBe(0);
  });
});
