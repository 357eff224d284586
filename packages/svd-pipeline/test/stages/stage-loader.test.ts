import { Device, VdError } from "@vd/kernels-native";
import { Plan } from "@vd/tensor";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { openModelFolder } from "../../src/index";
import { type Models, makeModels } from "../../src/opening/models";
import { conditionStage, decodeStage, encodeImageStage, type StageShape } from "../../src/stages/definitions";
import { loadStage, StageLayouts } from "../../src/stages/stage";
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

  it("that has run can stay loaded until all that was left is freed", async () => {
    const loader = loaderOf();
    const [encode, decode] = [encodeImageStage(models, SHAPE), decodeStage(models, SHAPE)];
    const plans: Plan[] = [];
    loader.leaveStages();
    for (const stage of [encode, decode]) await loader.run(stage, async (plan) => plans.push(plan));
    const own = (stage: typeof encode) => layouts.of(stage).memory.peakBytes;
    expect(loader.memory.ownBytes).toBeGreaterThanOrEqual(own(encode) + own(decode));
    await loader.freeLeft();
    expect(loader.memory.ownBytes).toBe(0);
    const failing = loader.run(encode, () => Promise.reject(new Error("no result")));
    await expect(failing).rejects.toThrow("no result");
    expect(loader.memory.ownBytes).toBeGreaterThan(0);
    await loader.dropAhead();
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("that is left gives way where memory runs out, and one that still runs does not", async () => {
    const loader = loaderOf();
    const [encode, decode] = [encodeImageStage(models, SHAPE), decodeStage(models, SHAPE)];
    const allocate = vi.spyOn(Device.prototype, "allocate");
    const runsOut = () =>
      allocate.mockRejectedValueOnce(new VdError({ code: "memory", where: "allocate", expected: "less", got: "more" }));
    const image = new Float32Array(3 * 64 * 64).fill(0.5);
    loader.leaveStages();
    const moments = await loader.run(encode, async (plan) => {
      runsOut();
      expect((await failureOf(loader.run(decode, async () => {}))).code).toBe("memory");
      await plan.write("image", image);
      await plan.run();
      return plan.read("moments");
    });
    expect(moments.every(Number.isFinite)).toBe(true);
    expect(loader.memory.ownBytes).toBeGreaterThan(0);
    runsOut();
    expect(await loader.run(decode, async () => "ran")).toBe("ran");
    const both = [encode, decode].map((stage) => layouts.of(stage).memory.peakBytes);
    expect(loader.memory.ownBytes).toBeLessThan(both[0]! + both[1]!);
    await loader.dropAhead();
    expect(loader.memory.ownBytes).toBe(0);
    allocate.mockRestore();
  });

  it("of the same name that is another one is not taken for what was loaded ahead", async () => {
    const loader = loaderOf();
    const [all, one] = [decodeStage(models, SHAPE), decodeStage(models, SHAPE, 1)];
    loader.loadAhead(all);
    expect([all, one].map((stage) => loader.isAhead(stage))).toEqual([true, false]);
    const framesOf = (plan: Plan) => plan.layout.graph.outputs.get("frames")!.dims[1];
    expect(await loader.run(one, async (plan) => framesOf(plan))).toBe(1);
    expect(await loader.run(all, async (plan) => framesOf(plan))).toBe(2);
    expect(loader.isAhead(all)).toBe(false);
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

  it("of another lane is loaded while the first of one is still on its way", async () => {
    const [encode, decode, condition] = [
      encodeImageStage(models, SHAPE),
      decodeStage(models, SHAPE),
      conditionStage(models, SHAPE),
    ];
    let onwards = () => {};
    const waiting = new Promise<void>((resolve) => {
      onwards = resolve;
    });
    const begun: string[] = [];
    const late = Object.assign(Object.create(layouts) as StageLayouts, {
      inSlices: async (stage: typeof encode) => {
        begun.push(stage.name);
        if (stage === encode) await waiting;
        return layouts.inSlices(stage);
      },
    });
    const loader = new StageLoader({ device, layouts: late, tuning: undefined, files: [], trims: false });
    loader.loadAhead(encode);
    loader.loadAhead(decode);
    loader.loadAhead(condition, { lane: "beside" });
    await loader.run(condition, async () => {});
    expect(begun).toEqual([encode.name, condition.name]);
    onwards();
    await loader.run(decode, async () => {});
    expect(begun).toEqual([encode.name, condition.name, decode.name]);
    await loader.dropAhead();
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("works where others do that are loaded at the same time, for as long as any of them is", async () => {
    const [encode, decode] = [encodeImageStage(models, SHAPE), decodeStage(models, SHAPE)];
    const memoryOf = (stage: typeof encode) => layouts.of(stage).memory;
    const inTurn = loaderOf();
    const image = new Float32Array(3 * 64 * 64).fill(0.5);
    const latents = Float32Array.from({ length: 2 * 4 * 8 * 8 }, (_, i) => Math.sin(i));
    const results = async (loader: StageLoader) => [
      await loader.run(encode, async (plan) => {
        await plan.write("image", image);
        await plan.run();
        return plan.read("moments");
      }),
      await loader.run(decode, async (plan) => {
        await plan.write("latents", latents);
        await plan.run();
        return plan.read("frames");
      }),
    ];
    const wanted = await results(inTurn);
    const loader = loaderOf();
    const bytes = Math.max(memoryOf(encode).arenaBytes, memoryOf(decode).arenaBytes);
    const allocate = vi.spyOn(Device.prototype, "allocate");
    const arena = loader.arenaFor(bytes);
    for (const stage of [encode, decode]) loader.loadAhead(stage, { shared: arena });
    const hold = await loader.open(encode);
    const waiting = await loader.open(decode);
    const both = memoryOf(encode).ioBytes + memoryOf(decode).ioBytes;
    expect(loader.memory.ownBytes).toBeGreaterThanOrEqual(bytes + both);
    expect(loader.memory.ownBytes).toBeLessThan(memoryOf(encode).peakBytes + memoryOf(decode).peakBytes);
    expect(allocate.mock.calls.filter(([size]) => size === bytes)).toHaveLength(1);
    allocate.mockRestore();
    for (const each of [hold, waiting]) await each.release();
    expect(loader.memory.ownBytes).toBe(0);
    const again = loader.arenaFor(bytes);
    for (const stage of [encode, decode]) loader.loadAhead(stage, { shared: again });
    expect(await results(loader)).toEqual(wanted);
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("that cannot have the memory which it shares is loaded in its turn, and leaves nothing behind", async () => {
    const loader = loaderOf();
    const stage = encodeImageStage(models, SHAPE);
    const { arenaBytes } = layouts.of(stage).memory;
    const allocate = vi.spyOn(Device.prototype, "allocate");
    const error = { code: "memory", where: "allocate", expected: "less", got: "more" } as const;
    allocate.mockRejectedValueOnce(new VdError(error));
    loader.loadAhead(stage, { shared: loader.arenaFor(arenaBytes) });
    expect(await loader.run(stage, async () => "ran")).toBe("ran");
    allocate.mockRestore();
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("that was prepared ahead takes no memory before it runs, and nothing is prepared twice", async () => {
    const stage = decodeStage(models, SHAPE);
    const decoded = (loader: StageLoader) =>
      loader.run(stage, async (plan) => {
        await plan.write(
          "latents",
          Float32Array.from({ length: 2 * 4 * 8 * 8 }, (_, i) => Math.sin(i)),
        );
        await plan.run();
        return plan.read("frames");
      });
    const wanted = await decoded(loaderOf());
    const [prepare, load, allocate] = [
      vi.spyOn(Plan, "prepare"),
      vi.spyOn(Plan, "load"),
      vi.spyOn(Device.prototype, "allocate"),
    ];
    const loader = loaderOf();
    for (let i = 0; i < 2; i++) loader.prepareAhead(stage);
    await expect.poll(() => prepare.mock.calls.length).toBe(1);
    await prepare.mock.results[0]!.value;
    expect(allocate).not.toHaveBeenCalled();
    expect(loader.memory.ownBytes).toBe(0);
    expect(await decoded(loader)).toEqual(wanted);
    expect(load).not.toHaveBeenCalled();
    // It was for one time.
    expect(await decoded(loader)).toEqual(wanted);
    expect(load).toHaveBeenCalledTimes(1);
    expect(prepare).toHaveBeenCalledTimes(1);
    expect(loader.memory.ownBytes).toBe(0);
    vi.restoreAllMocks();
  });

  it("that could not be prepared ahead is loaded in its turn", async () => {
    const loader = loaderOf();
    const stage = encodeImageStage(models, SHAPE);
    const prepare = vi.spyOn(Plan, "prepare");
    const error = { code: "weights", where: "a file", expected: "more", got: "less" } as const;
    prepare.mockRejectedValueOnce(new VdError(error));
    loader.prepareAhead(stage);
    expect(await loader.run(stage, async () => "ran")).toBe("ran");
    expect(prepare).toHaveBeenCalledTimes(1);
    prepare.mockRestore();
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("lets go of its filters' transforms when it is released, and of nothing else", async () => {
    const trim = vi.spyOn(Device.prototype, "trim");
    const memory = { ownBytes: 0, peakBytes: 0 };
    const layout = layouts.of(encodeImageStage(models, SHAPE));
    await (await loadStage(device, layout, memory)).release();
    expect(trim).not.toHaveBeenCalled();
    const transformed = { ...layout, memory: { ...layout.memory, transformedBytes: 1 } };
    const loaded = await loadStage(device, transformed, memory);
    expect(trim).not.toHaveBeenCalled();
    await loaded.release();
    expect(trim.mock.calls).toEqual([[{ only: "transformed" }]]);
    trim.mockRestore();
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
