import { openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { Eager } from "../src/eager";
import { Graph } from "../src/graph";
import { channelRange, frameRange, packedBytes, pixels, reshape, describe as shown, tokens } from "../src/tensor";
import { failure } from "./support/failure";

const g = new Graph();
const clip = g.input("clip", [1, 4, 2, 3, 8]);
const pair = g.input("pair", [2, 4, 2, 3, 8], "f16");
const eager = new Eager(openDevice("cpu", { threads: 1 }));
/** 0, 1, 2, … */
const counted = eager.tensor(
  Float32Array.from({ length: 192 }, (_, i) => i),
  [1, 4, 2, 3, 8],
);
const message = (body: () => unknown) => failure(body).message;

describe("channelRange", () => {
  test("sees the channels of every pixel", () => {
    const view = channelRange(counted, 2, 5);
    expect([view.dims, view.pitch]).toEqual([[1, 4, 2, 3, 3], 8]);
    const wanted = Array.from({ length: 24 }, (_, pixel) => [8 * pixel + 2, 8 * pixel + 3, 8 * pixel + 4]).flat();
    expect([...eager.readSync(view)]).toEqual(wanted);
    expect([...eager.readSync(channelRange(view, 1, 2))]).toEqual(
      Array.from({ length: 24 }, (_, pixel) => 8 * pixel + 3),
    );
  });

  test("counts bytes of the element type", () => {
    expect(channelRange(pair, 3, 8).byteOffset).toBe(6);
  });

  test.each([
    [-1, 2],
    [2, 2],
    [3, 2],
    [0, 9],
    [0.5, 2],
    [0, Number.NaN],
  ])("%s..%s is refused", (begin, end) => {
    expect(message(() => channelRange(clip, begin, end))).toBe(
      `[channelRange] expected a range inside 0..8, got ${begin}..${end}`,
    );
  });
});

describe("frameRange", () => {
  test("sees whole frames, also of a view", () => {
    const view = frameRange(counted, 1, 3);
    expect(view.dims).toEqual([1, 2, 2, 3, 8]);
    expect([...eager.readSync(view)]).toEqual(Array.from({ length: 96 }, (_, i) => 48 + i));
    const narrow = frameRange(channelRange(counted, 7, 8), 3, 4);
    expect([...eager.readSync(narrow)]).toEqual(Array.from({ length: 6 }, (_, i) => 144 + 8 * i + 7));
  });

  test("takes one clip and a range inside it", () => {
    expect(message(() => frameRange(pair, 0, 1))).toBe("[frameRange] expected one clip, got f16[2,4,2,3,8]");
    expect(message(() => frameRange(clip, 3, 5))).toBe("[frameRange] expected a range inside 0..4, got 3..5");
    expect(message(() => frameRange(clip, 2, 2))).toBe("[frameRange] expected a range inside 0..4, got 2..2");
  });
});

describe("reshape, tokens and pixels", () => {
  test("keep bytes and pitch", () => {
    const view = tokens(channelRange(clip, 0, 4));
    expect([view.dims, view.pitch]).toEqual([[1, 4, 6, 4], 8]);
    expect(pixels(view, 2, 3)).toEqual(channelRange(clip, 0, 4));
    expect(reshape(clip, [1, 1, 24, 8]).pitch).toBe(8);
  });

  test("a packed tensor may change its channels, a view may not", () => {
    expect(reshape(clip, [1, 192])).toMatchObject({ dims: [1, 192], pitch: 192 });
    expect(message(() => reshape(channelRange(clip, 0, 4), [1, 1, 1, 96]))).toBe(
      "[reshape] expected a shape with the elements and channels of f32[1,4,2,3,4], got [1,1,1,96]",
    );
  });

  test("refuse what has other elements or dimensions", () => {
    expect(message(() => reshape(clip, [1, 2, 3, 8]))).toContain("expected a shape with the elements");
    expect(message(() => tokens(reshape(clip, [24, 8])))).toBe("[tokens] expected [B,F,H,W,C], got f32[24,8]");
    expect(message(() => pixels(clip, 2, 3))).toBe("[pixels] expected [B,F,S,C], got f32[1,4,2,3,8]");
    expect(message(() => pixels(tokens(clip), 2, 4))).toContain("[reshape]");
  });
});

test("sizes and descriptions", () => {
  expect(packedBytes([2, 3], "f16")).toBe(12);
  expect(packedBytes([], "f32")).toBe(4);
  expect(shown(pair)).toBe("f16[2,4,2,3,8]");
});
