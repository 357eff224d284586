import { describe, expect, it } from "vitest";
import {
  allocateFloats,
  type PictureRuns,
  type PictureTaps,
  pictureToPlanes,
  resamplePicture,
  resizePicture,
  sharedFloats,
} from "../src/index";

/** Whole numbers below `end` that look random and are the same everywhere. */
function numbersBelow(end: number, count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  });
}

const picture = (width: number, height: number) => ({
  ...{ width, height },
  data: Uint8Array.from(numbersBelow(256, 3 * width * height, width * 31 + height)),
});

const levels = Float32Array.from({ length: 256 }, (_, level) => 2 * Math.fround(level / 255) - 1);

/** Taps of any counts and weights, negative ones included, some sums of which lie below 0 and above 255. */
function tapsOf(sourceSize: number, size: number): PictureTaps {
  const room = Math.min(sourceSize, 7) + 1;
  const counts = Int32Array.from(numbersBelow(Math.min(room, sourceSize + 1), size, 5));
  const starts = Int32Array.from(counts, (count, i) => numbersBelow(sourceSize - count + 1, 1, i + 9)[0]!);
  const weights = Int32Array.from(numbersBelow(3 * 2 ** 19, size * room, 3), (weight) => weight - 2 ** 19);
  return { starts, counts, weights };
}

function runsOf(sourceSize: number, size: number): PictureRuns {
  const length = Math.min(sourceSize, 5);
  const first = Int32Array.from(numbersBelow(sourceSize - length + 1, size, 7));
  return { first, length, weights: Float64Array.from(numbersBelow(2e9, size * length, 11), (n) => n / 3e9 - 0.2) };
}

type Picture = ReturnType<typeof picture>;

/** The same by the formula alone, along x: number `x` of row `y`. */
function plainWidth({ width, height, data }: Picture, { starts, counts, weights }: PictureTaps): Picture {
  const room = weights.length / starts.length;
  const result = new Uint8ClampedArray(height * starts.length * 3);
  for (let i = 0; i < result.length; i++) {
    const [channel, x, y] = [i % 3, Math.floor(i / 3) % starts.length, Math.floor(i / 3 / starts.length)];
    let sum = 2 ** 21;
    for (let k = 0; k < counts[x]!; k++)
      sum += data[(y * width + starts[x]! + k) * 3 + channel]! * weights[x * room + k]!;
    result[i] = Math.floor(sum / 2 ** 22);
  }
  return { width: starts.length, height, data: new Uint8Array(result.buffer) };
}

/** A picture whose columns are the rows of the other. */
function turned({ width, height, data }: Picture): Picture {
  const at = (i: number) => ((Math.floor(i / 3) % height) * width + Math.floor(i / 3 / height)) * 3 + (i % 3);
  return { width: height, height: width, data: Uint8Array.from(data, (_, i) => data[at(i)]!) };
}

const plainHeight = (image: Picture, taps: PictureTaps) => turned(plainWidth(turned(image), taps));

function plainResample(
  { width, height }: { width: number; height: number },
  numberAt: (x: number, y: number, channel: number) => number,
  { x, y }: { x: PictureRuns; y: PictureRuns },
): Float32Array {
  const columns = x.first.length * 3;
  const narrow = new Float32Array(height * columns);
  for (let i = 0; i < narrow.length; i++) {
    const [channel, column, row] = [i % 3, Math.floor(i / 3) % x.first.length, Math.floor(i / columns)];
    let sum = 0;
    for (let k = 0; k < x.length; k++)
      sum += x.weights[column * x.length + k]! * numberAt(x.first[column]! + k, row, channel);
    narrow[i] = sum;
  }
  const result = new Float32Array(y.first.length * columns);
  for (let i = 0; i < result.length; i++) {
    const [number, row] = [i % columns, Math.floor(i / columns)];
    let sum = 0;
    for (let k = 0; k < y.length; k++)
      sum += y.weights[row * y.length + k]! * narrow[(y.first[row]! + k) * columns + number]!;
    result[i] = sum;
  }
  expect(width).toBeGreaterThan(0);
  return result;
}

const bits = (values: Float32Array) => new Uint32Array(values.slice().buffer);
const shared = (bytes: Uint8Array) => {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
};
const takeAway = (array: Uint8Array | Float32Array | Int32Array) =>
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
const detached = <Data extends Uint8Array | Float32Array | Int32Array>(array: Data): Data => {
  takeAway(array);
  return array;
};

/** Source and result sizes: one pixel, one row, one column, primes, larger and smaller. */
const sizes = [
  [1, 1, 5, 3],
  [5, 3, 1, 1],
  [31, 1, 7, 4],
  [1, 37, 2, 5],
  [53, 47, 13, 59],
  [97, 61, 101, 17],
] as const;

describe("resizePicture", () => {
  it.each(sizes)("gives the bytes of the formula for %i×%i to %i×%i, by any number of threads", async (...size) => {
    const [width, height, columns, rows] = size;
    const image = picture(width, height);
    const [x, y] = [tapsOf(width, columns), tapsOf(height, rows)];
    const wide = plainWidth(image, x);
    expect(await resizePicture(image, { x })).toEqual(wide.data);
    expect(await resizePicture(image, { y })).toEqual(plainHeight(image, y).data);
    for (const threads of [undefined, 1, 2, 3, 8, 256])
      expect(await resizePicture(image, { x, y }, { threads })).toEqual(plainHeight(wide, y).data);
    expect(await resizePicture(image, {})).toEqual(image.data);
    expect(await resizePicture({ ...image, data: shared(image.data) }, { x })).toEqual(wide.data);
  });

  it("sums in 32 bits, whatever the weights are", async () => {
    const image = { width: 2, height: 1, data: new Uint8Array(6).fill(255) };
    const x = { starts: new Int32Array(1), counts: Int32Array.of(2), weights: new Int32Array(2).fill(2 ** 31 - 1) };
    const sum = (2 ** 21 + 2 * Math.imul(255, 2 ** 31 - 1)) >> 22;
    const byte = Math.min(Math.max(sum, 0), 255);
    expect([...(await resizePicture(image, { x }))]).toEqual([byte, byte, byte]);
  });

  it("has read a picture once it is called, and taps", async () => {
    const image = picture(40, 30);
    const [x, y] = [tapsOf(40, 50), tapsOf(30, 20)];
    const wanted = await resizePicture(image, { x, y });
    const running = resizePicture(image, { x, y });
    for (const array of [image.data, x.starts, x.counts, y.weights]) takeAway(array);
    expect(await running).toEqual(wanted);
  });
});

describe("resamplePicture", () => {
  it.each(sizes)("gives the bits of the formula for %i×%i to %i×%i, by any number of threads", async (...size) => {
    const [width, height, columns, rows] = size;
    const image = picture(width, height);
    const runs = { x: runsOf(width, columns), y: runsOf(height, rows) };
    const byte = (x: number, y: number, channel: number) => levels[image.data[(y * width + x) * 3 + channel]!]!;
    const planes = Float32Array.from(numbersBelow(1e6, image.data.length, 2), (n) => n / 1e6);
    const float = (x: number, y: number, channel: number) =>
      Math.fround(Math.fround(2 * planes[(channel * height + y) * width + x]!) - 1);
    for (const threads of [undefined, 1, 2, 3, 8, 256]) {
      const fromBytes = await resamplePicture(image, runs, levels, { threads });
      expect(bits(fromBytes)).toEqual(bits(plainResample(image, byte, runs)));
      const fromFloats = await resamplePicture({ ...image, data: planes }, runs, levels, { threads });
      expect(bits(fromFloats)).toEqual(bits(plainResample(image, float, runs)));
    }
  });

  it("gives the bits of the formula as normalised planes, by any number of threads", async () => {
    const image = picture(53, 47);
    const runs = { x: runsOf(53, 13), y: runsOf(47, 59) };
    const normalisation = { mean: [0.48145466, 0.5, -0.25], spread: [0.26862954, 3, 0.001] };
    const [mean, spread] = [normalisation.mean, normalisation.spread].map((each) =>
      each.map(Math.fround),
    ) as number[][];
    const area = 13 * 59;
    for (const data of [image.data, Float32Array.from(image.data, (level) => level / 255)]) {
      const plain = await resamplePicture({ ...image, data }, runs, levels);
      const planes = Float32Array.from(plain, (_, i) => {
        const channel = Math.floor(i / area);
        const unit = Math.fround(plain[3 * (i % area) + channel]! + 1) / 2;
        return Math.fround(unit - mean![channel]!) / spread![channel]!;
      });
      for (const threads of [undefined, 1, 3, 256]) {
        const normalised = await resamplePicture({ ...image, data }, runs, levels, { normalisation, threads });
        expect(bits(normalised)).toEqual(bits(planes));
      }
    }
  });

  it("takes runs of no samples as zeros", async () => {
    const none = { first: new Int32Array(2), length: 0, weights: new Float64Array() };
    expect(await resamplePicture(picture(3, 3), { x: none, y: none }, levels)).toEqual(new Float32Array(12));
  });
});

describe("pictureToPlanes", () => {
  const { data } = picture(53, 47);
  const area = 53 * 47;
  const plain = Float32Array.from(data, (_, i) => levels[data[3 * (i % area) + Math.floor(i / area)]!]!);
  const before = Float32Array.from(data, (_, i) => Math.fround(Math.sin(i)));
  const sums = before.map((value, i) => value + plain[i]!);
  const targets = {
    shared: sharedFloats,
    "the addon's": allocateFloats,
    "JavaScript's": (n: number) => new Float32Array(n),
  };

  it("gives the number of each byte, by any number of threads", async () => {
    for (const threads of [undefined, 1, 2, 3, 8, 256])
      expect(bits(await pictureToPlanes(data, levels, { threads }))).toEqual(bits(plain));
    expect(await pictureToPlanes(shared(data), levels)).toEqual(plain);
    expect(await pictureToPlanes(data.subarray(0, 3), levels)).toEqual(
      Float32Array.from(data.subarray(0, 3), (l) => levels[l]!),
    );
  });

  it.each(Object.entries(targets))("writes to %s memory, or adds to what is there", async (_whose, allocate) => {
    const into = allocate(plain.length);
    expect(await pictureToPlanes(data, levels, { into })).toBe(into);
    expect(bits(into)).toEqual(bits(plain));
    for (const threads of [1, 3]) {
      into.set(before);
      expect(await pictureToPlanes(data, levels, { into, adds: true, threads })).toBe(into);
      expect(bits(into)).toEqual(bits(sums));
    }
  });

  it("has read each of several pictures once it is called, in memory that it uses again", async () => {
    const pictures = [211, 307, 401, 503].map((width) => picture(width, 300).data);
    const wanted = await Promise.all(pictures.map((pixels) => pictureToPlanes(shared(pixels), levels)));
    for (let round = 0; round < 3; round++) {
      const running = pictures.map((pixels) => {
        const copy = pixels.slice();
        const planes = pictureToPlanes(copy, levels);
        copy.fill(0);
        return planes;
      });
      const all = await Promise.all(running);
      // Buffers, since toEqual takes seconds for so many numbers.
      for (const [i, planes] of all.entries())
        expect(Buffer.from(planes.buffer).equals(Buffer.from(wanted[i]!.buffer))).toBe(true);
    }
  });

  it("says so when the target was taken away meanwhile", async () => {
    const into = new Float32Array(plain.length);
    const running = pictureToPlanes(data, levels, { into, adds: true });
    takeAway(into);
    await expect(running).rejects.toMatchObject({ code: "layout", where: "pictureToPlanes into" });
  });
});

describe("what does not fit", () => {
  const image = picture(4, 3);
  const taps = () => tapsOf(4, 5);
  const runs = () => ({ x: runsOf(4, 5), y: runsOf(3, 2) });
  type Resize = Parameters<typeof resizePicture>;
  type Resample = Parameters<typeof resamplePicture>;
  type Planes = Parameters<typeof pictureToPlanes>;

  it.each<[string, Resize, string]>([
    ["data of another length", [{ ...image, width: 5 }, { x: taps() }], "shape"],
    ["a side that is too long", [{ ...image, width: 2 ** 25 }, {}], "attr"],
    ["data that was taken away", [{ ...image, data: detached(image.data.slice()) }, {}], "shape"],
    ["floats", [{ ...image, data: new Float32Array(36) as never }, {}], "attr"],
    ["taps for another picture", [picture(3, 4), { x: { ...taps(), starts: new Int32Array(5).fill(3) } }], "layout"],
    ["a start before the picture", [image, { x: { ...taps(), starts: new Int32Array(5).fill(-1) } }], "layout"],
    ["a count below 0", [image, { y: { ...tapsOf(3, 5), counts: new Int32Array(5).fill(-1) } }], "layout"],
    [
      "a count that is too large to add",
      [image, { y: { ...tapsOf(3, 5), counts: new Int32Array(5).fill(2 ** 31 - 1) } }],
      "layout",
    ],
    [
      "more counts than weights",
      [
        image,
        { x: { ...taps(), starts: new Int32Array(5), counts: new Int32Array(5).fill(2), weights: new Int32Array(5) } },
      ],
      "shape",
    ],
    ["weights of some results alone", [image, { x: { ...taps(), weights: new Int32Array(6) } }], "shape"],
    ["counts of some results alone", [image, { x: { ...taps(), counts: new Int32Array(4) } }], "shape"],
    [
      "an empty result",
      [image, { x: { starts: new Int32Array(), counts: new Int32Array(), weights: new Int32Array() } }],
      "shape",
    ],
    ["taps that were taken away", [image, { x: { ...taps(), starts: detached(new Int32Array(5)) } }], "shape"],
    ["taps of floats", [image, { x: { ...taps(), weights: new Float32Array(40) as never } }], "attr"],
    ["taps that are none", [image, { y: null as never }], "attr"],
    ["half a thread", [image, {}, { threads: 0.5 }], "attr"],
  ])("resizePicture refuses %s", async (_what, args, code) => {
    await expect(resizePicture(...args)).rejects.toMatchObject({ name: "VdError", code });
  });

  it.each<[string, Resample, string]>([
    ["data of another length", [{ ...image, height: 4 }, runs(), levels], "shape"],
    ["floats of another length", [{ ...image, data: new Float32Array(35) }, runs(), levels], "shape"],
    ["floats that were taken away", [{ ...image, data: detached(new Float32Array(36)) }, runs(), levels], "shape"],
    ["runs beyond the picture", [image, { ...runs(), x: runsOf(5, 5) }, levels], "layout"],
    [
      "a run before the picture",
      [image, { ...runs(), y: { ...runs().y, first: Int32Array.of(0, -1) } }, levels],
      "layout",
    ],
    ["another length than the weights have", [image, { ...runs(), y: { ...runs().y, length: 2 } }, levels], "shape"],
    [
      "an empty result",
      [image, { ...runs(), y: { first: new Int32Array(), length: 1, weights: new Float64Array() } }, levels],
      "shape",
    ],
    ["levels of 255", [image, runs(), levels.subarray(1)], "shape"],
    ["levels that were taken away", [image, runs(), detached(levels.slice())], "shape"],
    ["no levels", [image, runs(), undefined as never], "attr"],
    ["two means", [image, runs(), levels, { normalisation: { mean: [0, 0], spread: [1, 1, 1] } }], "attr"],
    ["no spread", [image, runs(), levels, { normalisation: { mean: [0, 0, 0] } as never }], "attr"],
    ["a normalisation that is none", [image, runs(), levels, { normalisation: null as never }], "attr"],
    ["a length that is none", [image, { ...runs(), x: { ...runs().x, length: -1 } }, levels], "attr"],
  ])("resamplePicture refuses %s", async (_what, args, code) => {
    await expect(resamplePicture(...args)).rejects.toMatchObject({ name: "VdError", code });
  });

  const memory = new SharedArrayBuffer(4 * 36);
  it.each<[string, Planes, string]>([
    ["no pixels", [new Uint8Array(), levels], "shape"],
    ["half a pixel", [new Uint8Array(4), levels], "shape"],
    ["pixels that were taken away", [detached(new Uint8Array(6)), levels], "shape"],
    ["levels of 257", [image.data, new Float32Array(257)], "shape"],
    ["a target of another length", [image.data, levels, { into: new Float32Array(35) }], "shape"],
    ["a target that was taken away", [image.data, levels, { into: detached(new Float32Array(36)) }], "shape"],
    ["a target of doubles", [image.data, levels, { into: new Float64Array(36) as never }], "attr"],
    ["nothing to add to", [image.data, levels, { adds: true }], "attr"],
    ["a target in the pixels", [new Uint8Array(memory, 36, 36), levels, { into: new Float32Array(memory) }], "layout"],
  ])("pictureToPlanes refuses %s", async (_what, args, code) => {
    await expect(pictureToPlanes(...args)).rejects.toMatchObject({ name: "VdError", code });
  });
});
