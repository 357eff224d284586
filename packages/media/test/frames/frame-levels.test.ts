import { expect, test } from "vitest";
import { maxDifference, openFixture } from "../../../../tooling/testing/pictures";
import { framesToUint8, framesToUnit } from "../../src/frames/frame-levels";

test("a whole run's frames are met exactly", () => {
  using file = openFixture("tiny-svd/goldens.safetensors");
  const [numFrames, , height, width] = file.entry("frames.raw").shape as [number, number, number, number];
  const ours = framesToUint8(file.readFloat32("frames.raw"), { numFrames, height, width });
  expect(Buffer.compare(ours, file.readBytes("frames.u8"))).toBe(0);
  const half = framesToUint8(file.readFloat32("gpu_float16.frames.raw"), { numFrames, height, width });
  expect(maxDifference(half, file.readBytes("gpu_float16.frames.u8"))).toBe(0);
});

test("frames behind the channels are reached by strides", () => {
  using file = openFixture("preprocess/preprocess.safetensors");
  const [, , numFrames, height, width] = file.entry("in.frames").shape as [number, number, number, number, number];
  const area = height * width;
  const strides = { frame: area, channel: numFrames * area, row: width, column: 1 };
  const values = file.readFloat32("in.frames");
  const shape = { numFrames, height, width };
  expect(maxDifference(framesToUnit(values, shape, strides), file.readFloat32("out.frames.np"))).toBe(0);
  expect(Buffer.compare(framesToUint8(values, shape, strides), file.readBytes("out.frames.uint8"))).toBe(0);
});

test("channels-last frames with padding are reached by strides", () => {
  const pixels = Float32Array.from({ length: 2 * 8 }, (_, i) => (i % 8 < 3 ? (i % 8) - 1 : 99));
  const strides = { frame: 16, channel: 1, row: 16, column: 8 };
  expect([...framesToUint8(pixels, { numFrames: 1, height: 1, width: 2 }, strides)]).toEqual([
    0, 128, 255, 0, 128, 255,
  ]);
});

test("halves go to the even level; what is out of range or NaN stays in range", () => {
  // In float32, level/255·2 − 1 lands on a tie exactly for 127.5, where v is 0: it goes up, to 128.
  const tie = framesToUint8(Float32Array.of(0, 0, 0), { numFrames: 1, height: 1, width: 1 });
  expect([...tie]).toEqual([128, 128, 128]);
  const odd = framesToUint8(Float32Array.of(-7, 7, Number.NaN), { numFrames: 1, height: 1, width: 1 });
  expect([...odd]).toEqual([0, 255, 0]);
  const unit = framesToUnit(Float32Array.of(-7, 7, 0.5), { numFrames: 1, height: 1, width: 1 });
  expect([...unit]).toEqual([0, 1, 0.75]);
});

test("every tie between two levels goes to the even one", () => {
  const ties: number[] = [];
  for (let v = -1; v <= 1; v += 2 ** -12) {
    const level = Math.fround(Math.fround(Math.fround(v * 0.5) + 0.5) * 255);
    if (level % 1 === 0.5) ties.push(v);
  }
  expect(ties.length).toBeGreaterThan(0);
  for (const v of ties) {
    const [red] = framesToUint8(Float32Array.of(v, v, v), { numFrames: 1, height: 1, width: 1 });
    expect(red! % 2, String(v)).toBe(0);
  }
});

test("missing values and empty sizes are refused with words", () => {
  const shape = { numFrames: 2, height: 2, width: 2 };
  expect(() => framesToUint8(new Float32Array(23), shape)).toThrow("[frames] expected at least 24 values");
  expect(() => framesToUnit(new Float32Array(24), { ...shape, width: 0 })).toThrow("width as a whole number");
});
