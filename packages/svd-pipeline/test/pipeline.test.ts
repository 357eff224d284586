import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../tooling/testing/failure";
import { maxDifference, openFixture, storedImage } from "../../../tooling/testing/pictures";
import { loadImage, StableVideoDiffusionPipeline } from "../src/index";
import { sameBytes } from "./support/measures";
import { openTiny, PICTURE, QUICK } from "./support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});

describe("the golden run", () => {
  const golden = openFixture("tiny-svd/goldens.safetensors");
  const options = {
    image: storedImage(golden, "image_u8"),
    steps: 10,
    seed: 42,
    minGuidance: 1,
    maxGuidance: 2,
  };

  it("gives the reference's frames to within 1 of 255", async () => {
    const video = await pipeline.generate(options);
    expect([video.numFrames, video.height, video.width, 3]).toEqual([...golden.entry("frames.u8").shape]);
    expect(maxDifference(video.data, golden.readBytes("frames.u8"))).toBeLessThanOrEqual(1);
    const raw = golden.readFloat64("frames.raw").map((value) => Math.min(Math.max(value / 2 + 0.5, 0), 1));
    expect(maxDifference(video.floats(), raw)).toBeLessThan(2e-3);
  });
});

describe("generate", () => {
  it("gives the same bits for the same seed and others for another", async () => {
    const first = await pipeline.generate(QUICK);
    const second = await pipeline.generate({ ...QUICK, seed: 7n });
    expect(sameBytes(second.data, first.data)).toBe(true);
    expect(second.floats()).toEqual(first.floats());
    expect([first.seed, second.seed]).toEqual([7n, 7n]);
    const other = await pipeline.generate({ ...QUICK, seed: 8 });
    expect(sameBytes(other.data, first.data)).toBe(false);
    const unseeded = await pipeline.generate({ ...QUICK, seed: undefined });
    expect(sameBytes(unseeded.data, first.data)).toBe(false);
    const again = await pipeline.generate({ ...QUICK, seed: unseeded.seed });
    expect(sameBytes(again.data, unseeded.data)).toBe(true);
  });

  it("tells the largest seeds apart", async () => {
    const [a, b] = [await pipeline.generate({ ...QUICK, seed: 2n ** 64n - 1n }), await pipeline.generate(QUICK)];
    expect(sameBytes(a.data, b.data)).toBe(false);
  });

  it("lets generations wait for each other, in the order of the calls", async () => {
    const order: string[] = [];
    const seeds = [7, 8, 9];
    const runs = seeds.map(async (seed) => {
      const video = await pipeline.generate({ ...QUICK, seed });
      order.push(String(seed));
      return video;
    });
    const { image, seed: _, ...rest } = QUICK;
    const batch = pipeline.generateBatch({ ...rest, images: [image], seeds: [9] });
    expect((await pipeline.plan(QUICK)).flops).toBeGreaterThan(0);
    const videos = await Promise.all(runs);
    expect(order).toEqual(["7", "8", "9"]);
    for (const [i, seed] of seeds.entries())
      expect(sameBytes((await pipeline.generate({ ...QUICK, seed })).data, videos[i]!.data)).toBe(true);
    expect(sameBytes((await batch)[0]!.data, videos[2]!.data)).toBe(true);
  });

  it("gives up a generation that is cancelled while it waits, and goes on with the others", async () => {
    const first = pipeline.generate(QUICK);
    const controller = new AbortController();
    const second = failureOf(pipeline.generate({ ...QUICK, signal: controller.signal }));
    const third = pipeline.generate(QUICK);
    controller.abort(new Error("no longer wanted"));
    const error = await second;
    expect(error).toMatchObject({ name: "AbortError", code: "cancelled", cause: { message: "no longer wanted" } });
    expect(sameBytes((await third).data, (await first).data)).toBe(true);
  });

  it("refuses wrong options at once, also while another generation runs", async () => {
    const first = pipeline.generate(QUICK);
    let isDone = false;
    void first.then(() => {
      isDone = true;
    });
    const error = await failureOf(pipeline.generate({ ...QUICK, steps: 0 }));
    expect([error.code, isDone]).toEqual(["attr", false]);
    await first;
  });

  it("lets two pipelines work at once, with the bytes that each gives alone", async () => {
    const other = await openTiny();
    const [a, b] = await Promise.all([pipeline.generate(QUICK), other.generate({ ...QUICK, seed: 9 })]);
    expect(sameBytes((await other.generate(QUICK)).data, a.data)).toBe(true);
    expect(sameBytes((await pipeline.generate({ ...QUICK, seed: 9 })).data, b.data)).toBe(true);
  });

  it("takes a path, a file's bytes and pixels for a picture", async () => {
    const wanted = (await pipeline.generate(QUICK)).data;
    for (const image of [readFileSync(PICTURE), await loadImage(PICTURE)])
      expect(sameBytes((await pipeline.generate({ ...QUICK, image })).data, wanted)).toBe(true);
  });

  it("cuts the picture to the video's shape at the focus, and stretches it when asked to", async () => {
    // Grey above, blue in the middle, grey below: only the cut at the top is grey all over.
    const data = Uint8Array.from({ length: 32 * 96 * 3 }, (_, i) => {
      const isBlue = Math.floor(i / 96) >= 32 && Math.floor(i / 96) < 64;
      return isBlue ? [20, 40, 220][i % 3]! : 128;
    });
    const image = { width: 32, height: 96, data };
    const top = { width: 32, height: 32, data: data.slice(0, 32 * 32 * 3) };
    const framesOf = async (options: object) => (await pipeline.generate({ ...QUICK, image, ...options })).data;
    const wanted = await framesOf({ image: top });
    expect(sameBytes(await framesOf({ focus: "top" }), wanted)).toBe(true);
    expect(sameBytes(await framesOf({}), wanted)).toBe(false);
    expect(sameBytes(await framesOf({ fit: "stretch" }), await framesOf({ fit: "stretch", focus: "top" }))).toBe(true);
  });

  it("takes its size from the picture's shape", async () => {
    const image = { width: 30, height: 60, data: new Uint8Array(30 * 60 * 3).fill(90) };
    const video = await pipeline.generate({ ...QUICK, image, width: 64, height: 64, autoSize: true });
    expect([video.width, video.height]).toEqual([32, 64]);
  });

  it("animates pictures of other sizes and shapes than the video's", async () => {
    for (const [width, height] of [
      [1, 1],
      [2, 2],
      [3, 500],
      [700, 5],
    ] as const) {
      const image = { width, height, data: Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 37) % 256) };
      const video = await pipeline.generate({ ...QUICK, image });
      expect(video.data).toHaveLength(3 * 32 * 32 * 3);
      expect(video.floats().every((value) => value >= 0 && value <= 1)).toBe(true);
    }
  });

  it("fails with the caller's own error when a callback throws, and works again", async () => {
    const wanted = await pipeline.generate(QUICK);
    for (const stage of ["encode", "denoise", "decode"]) {
      const fail = ({ stage: now }: { stage: string }) => {
        if (now === stage) throw new TypeError("mine");
      };
      await expect(pipeline.generate({ ...QUICK, onProgress: fail })).rejects.toThrow(new TypeError("mine"));
    }
    expect(sameBytes((await pipeline.generate(QUICK)).data, wanted.data)).toBe(true);
  });
});

describe("new StableVideoDiffusionPipeline()", () => {
  it("says how a pipeline is opened", () => {
    const Constructor = StableVideoDiffusionPipeline as unknown as new (opened?: unknown) => unknown;
    for (const given of [undefined, null, "models/tiny-svd", {}])
      expect(() => new Constructor(given)).toThrow(
        expect.objectContaining({ name: "VdError", hint: expect.stringContaining("fromPretrained(") }),
      );
  });
});

describe("dispose", () => {
  it("ends the pipeline, twice if need be, and lets a generation under way finish", async () => {
    const own = await openTiny();
    const running = own.generate(QUICK);
    own.dispose();
    own[Symbol.dispose]();
    expect((await running).data).toHaveLength(3 * 32 * 32 * 3);
    for (const call of [() => own.generate(QUICK), () => own.plan(QUICK)])
      expect((await failureOf(call)).message).toMatchInlineSnapshot(
        `"[pipeline] expected an open pipeline, got a disposed one. Open the model again."`,
      );
  });
});
