import { join } from "node:path";
import type { RgbImage } from "@vd/media";
import { loadSharp, outputTarget, writeVideo } from "@vd/media";
import { describe, expect, it } from "vitest";
import { gradientFrames } from "../../../../tooling/testing/gradient-frames";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { inOrder } from "../../src/frames/prefetch";
import { collectFrames, createFrameLoader, optimalNumWorkers } from "../../src/index";

const [WIDTH, HEIGHT, FRAMES] = [32, 24, 12];
const data = gradientFrames(WIDTH, HEIGHT, FRAMES);
const frameBytes = WIDTH * HEIGHT * 3;
const frameOf = (i: number) => data.subarray(i * frameBytes, (i + 1) * frameBytes);
const video = { width: WIDTH, height: HEIGHT, numFrames: FRAMES, fps: 8, data, frame: frameOf };

async function folderOfPictures(): Promise<string> {
  const folder = temporaryFolder();
  const sharp = await loadSharp();
  for (let i = 0; i < FRAMES; i++)
    await sharp(frameOf(i), { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
      .png()
      .toFile(join(folder, `f${i}.png`));
  return folder;
}

async function all(frames: AsyncIterable<RgbImage>): Promise<RgbImage[]> {
  const found: RgbImage[] = [];
  for await (const frame of frames) found.push(frame);
  return found;
}

/** Mean absolute difference of levels. */
const distance = (a: Uint8Array, b: Uint8Array) =>
  a.reduce((sum, level, i) => sum + Math.abs(level - b[i]!), 0) / a.length;

describe("a frame loader", () => {
  it("gives the pictures of a folder in the order of their numbers, bit for bit", async () => {
    const frames = await all(createFrameLoader(await folderOfPictures(), { workers: 3, prefetch: 5 }));
    expect(frames.length).toBe(FRAMES);
    for (const [i, frame] of frames.entries()) expect(Buffer.compare(frame.data, frameOf(i))).toBe(0);
  });

  it.each([
    ["x.mp4", 6],
    ["x.webm", 6],
    ["x.gif", 8],
    ["x.webp", 6],
  ])("reads %s", async (name, most) => {
    const path = join(temporaryFolder(), name);
    await writeVideo(outputTarget(path), video, { overwrite: true, encoder: "auto", ffmpeg: "/no/such/ffmpeg" });
    const frames = await all(createFrameLoader(path, { prefetch: 2 }));
    expect(frames.length).toBe(FRAMES);
    expect([frames[0]!.width, frames[0]!.height]).toEqual([WIDTH, HEIGHT]);
    for (const i of [0, FRAMES - 1]) expect(distance(frames[i]!.data, frameOf(i))).toBeLessThan(most);
  });

  it("ends with its loop, and once its signal fires", async () => {
    const folder = await folderOfPictures();
    for await (const { index } of createFrameLoader(folder)) if (index === 2) break;
    const controller = new AbortController();
    const loop = async () => {
      for await (const { index } of createFrameLoader(folder, { signal: controller.signal }))
        if (index === 1) controller.abort();
    };
    await expect(loop()).rejects.toMatchObject({ code: "cancelled" });
  });

  it("says what is wrong with its source and its options", async () => {
    expect(() => createFrameLoader("x", { workers: 0 })).toThrow(/workers.*from 1 to 1024/);
    expect(() => createFrameLoader("x", { prefetch: 1.5 })).toThrow(/prefetch/);
    await expect(all(createFrameLoader("/no/such/folder"))).rejects.toMatchObject({ code: "io" });
    await expect(all(createFrameLoader(temporaryFolder()))).rejects.toMatchObject({ code: "io" });
    expect(() => createFrameLoader(7 as never)).toThrow(/source.*expected a folder of pictures.*got 7/);
  });

  it("fits frames to a size, and makes a video of them", async () => {
    const loader = createFrameLoader(await folderOfPictures(), { size: { width: 16, height: 16 } });
    const { numFrames, width, height, data: values } = await collectFrames(loader, 4);
    expect([numFrames, width, height, values.length]).toEqual([4, 16, 16, 4 * 16 * 16 * 3]);
    expect(values.every((x) => x >= -1 && x <= 1)).toBe(true);
  });
});

it("reading ahead holds no more than it may, makes no more at a time, and keeps the order", async () => {
  let [running, most, made] = [0, 0, 0];
  const load = async (i: number) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, (7 * i) % 5));
    running--;
    made++;
    return i;
  };
  const taken: number[] = [];
  for await (const i of inOrder(
    Array.from({ length: 20 }, (_, i) => i),
    load,
    { workers: 3, prefetch: 5 },
  )) {
    taken.push(i);
    await new Promise((resolve) => setTimeout(resolve, 3));
    expect(made - taken.length).toBeLessThanOrEqual(5);
  }
  expect(taken).toEqual(taken.map((_, i) => i));
  expect(taken.length).toBe(20);
  expect(most).toBe(3);
});

it("decodes no more pictures at a time than there are threads, and fewer on Windows", () => {
  expect(optimalNumWorkers("linux", 16)).toBe(4);
  expect(optimalNumWorkers("linux", 2)).toBe(1);
  expect(optimalNumWorkers("win32", 4)).toBe(2);
  expect(optimalNumWorkers("darwin", 1)).toBe(1);
});

it("pictures that waited for their turn are not begun once the loop is left", async () => {
  const begun: number[] = [];
  const load = async (i: number) => {
    begun.push(i);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return i;
  };
  for await (const _ of inOrder([0, 1, 2, 3, 4, 5, 6, 7], load, { workers: 1, prefetch: 8 })) break;
  const before = [...begun];
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(begun).toEqual(before);
});

it("a signal ends a loader whose source never answers", { timeout: 5_000 }, async () => {
  async function* silent(): AsyncGenerator<RgbImage> {
    await new Promise(() => undefined);
  }
  const loop = all(createFrameLoader(silent(), { signal: AbortSignal.timeout(20) }));
  await expect(loop).rejects.toMatchObject({ code: "cancelled" });
});

it("a loop that is left does not wait for a source that owes it a frame", { timeout: 5_000 }, async () => {
  const frame = { width: 1, height: 1, data: new Uint8Array(3) };
  async function* stuck(): AsyncGenerator<RgbImage> {
    yield frame;
    await new Promise(() => undefined);
  }
  for await (const _ of createFrameLoader(stuck())) break;
  expect((await collectFrames(createFrameLoader(stuck()), 1)).numFrames).toBe(1);
  let isEnded = false;
  async function* quick(): AsyncGenerator<RgbImage> {
    try {
      for (;;) yield frame;
    } finally {
      await new Promise((resolve) => setTimeout(resolve, 5));
      isEnded = true;
    }
  }
  for await (const _ of createFrameLoader(quick())) {
    // Time for the frames ahead: then it owes none, and its end is waited for.
    await new Promise((resolve) => setTimeout(resolve, 20));
    break;
  }
  expect(isEnded).toBe(true);
});

it("a source may use one array for all its frames, whatever is read ahead", async () => {
  async function* reused(): AsyncGenerator<RgbImage> {
    const data = new Uint8Array(3);
    for (let i = 0; i < 6; i++) yield { width: 1, height: 1, data: data.fill(i) };
  }
  const levels: number[] = [];
  for await (const frame of createFrameLoader(reused(), { prefetch: 4 })) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    levels.push(frame.data[0]!);
  }
  expect(levels).toEqual([0, 1, 2, 3, 4, 5]);
});

it("sizes, counts and frames that cannot be are refused in sentences", async () => {
  for (const width of [0, 1.5, 70_000, Number.NaN])
    expect(() => createFrameLoader("x", { size: { width, height: 16 } })).toThrow(
      /\[size.width\] expected .* at most 65536/,
    );
  async function* one(frame: unknown): AsyncGenerator<RgbImage> {
    yield frame as RgbImage;
  }
  const good = { width: 2, height: 2, data: new Uint8Array(12) };
  for (const most of [0, -1, 1.5, Number.NaN, "3" as never])
    await expect(collectFrames(one(good), most)).rejects.toMatchObject({ code: "attr" });
  for (const wrong of [null, {}, { ...good, data: new Uint8Array(3) }, { ...good, data: new Float32Array(12) }]) {
    await expect(collectFrames(one(wrong))).rejects.toMatchObject({ code: "shape" });
    await expect(all(createFrameLoader(one(wrong)))).rejects.toMatchObject({ code: "shape" });
  }
});

it("options of a loader, cores and frames that are none are refused in sentences", async () => {
  const load = (options: unknown) => () => createFrameLoader("x", options as never);
  expect(load(null)).toThrow(/\[createFrameLoader\] \[options\] expected an object, got null/);
  expect(load({ worker: 2 })).toThrow(
    /\[worker\] expected one of workers, prefetch, size, signal, got an unknown option/,
  );
  expect(load({ signal: {} })).toThrow(/\[signal\] expected an AbortSignal/);
  expect(load({ size: null })).toThrow(/\[size.width\] expected/);
  for (const numCores of [Number.NaN, 0, -1, 2.5, "4"])
    expect(() => optimalNumWorkers("linux", numCores as never)).toThrow(/\[numCores\] expected a whole number from 1/);
  for (const frames of [null, undefined, 5])
    await expect(collectFrames(frames as never)).rejects.toThrow(/\[collectFrames\] expected frames to iterate over/);
});

it("frames become values of levels, exactly, while the event loop turns", async () => {
  const [width, height] = [1_024, 576];
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => i % 256);
  let turns = 0;
  let next = setImmediate(function turn() {
    turns++;
    next = setImmediate(turn);
  });
  async function* one() {
    yield { width, height, data };
    yield { width, height, data };
  }
  const { numFrames, data: values } = await collectFrames(one());
  clearImmediate(next);
  expect([numFrames, values.length]).toEqual([2, 2 * data.length]);
  expect(values.subarray(0, 256)).toEqual(Float32Array.from({ length: 256 }, (_, level) => level / 127.5 - 1));
  expect(values.subarray(data.length, data.length + 256)).toEqual(values.subarray(0, 256));
  expect(turns).toBeGreaterThan(2);
});
