import { openDevice } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { expect, test } from "vitest";
import { collapseScore, DriftHistory, driftMeasure } from "../../src/drift/measure";
import { recordDrift } from "../../src/drift/record";

const [WIDTH, HEIGHT] = [24, 16];
const at = (x: number, y: number, c: number) => (y * WIDTH + x) * 3 + c;

/** A picture from a function of place and channel. */
const picture = (value: (x: number, y: number, c: number) => number) => {
  const data = new Float32Array(WIDTH * HEIGHT * 3);
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) for (let c = 0; c < 3; c++) data[at(x, y, c)] = value(x, y, c);
  return data;
};

/** The measure of a picture by the device. */
async function measured(frame: Float32Array, before: Float32Array, history = new DriftHistory()) {
  const dims = [1, 1, HEIGHT, WIDTH, 3];
  const layout = layoutGraph((g) => recordDrift(g, g.input("frame", dims), g.input("before", dims)));
  const plan = await Plan.load(openDevice("cpu", { threads: 1 }), layout);
  plan.writeSync("frame", frame);
  plan.writeSync("before", before);
  await plan.run();
  const measure = driftMeasure(5, (name) => plan.readSync(name), history);
  plan.freeSync();
  return measure;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: readonly number[]) => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2)));

test("a picture with everything in it, beside plain arithmetic", async () => {
  const frame = picture((x, y, c) => Math.sin(x * 0.9 + c) * Math.cos(y * 0.7 - c) * 0.9);
  const before = picture((x, y, c) => Math.sin(x * 0.9 + c + 0.2) * Math.cos(y * 0.7 - c) * 0.9);
  const measure = await measured(frame, before);
  const channel = (c: number) => Array.from({ length: WIDTH * HEIGHT }, (_, i) => frame[3 * i + c]!);
  const channels = [0, 1, 2].map(channel);
  for (const [c, values] of channels.entries()) expect(measure.mean[c]).toBeCloseTo(mean(values), 5);
  expect(measure.contrast).toBeCloseTo(mean(channels.map(deviation)), 5);
  expect(measure.temporal).toBeCloseTo(deviation(Array.from(frame, (value, i) => value - before[i]!)), 5);
  const spreads = channels[0]!.map((red, i) => {
    const all = [red, channels[1]![i]!, channels[2]![i]!];
    return Math.max(...all) - Math.min(...all);
  });
  expect(measure.saturation).toBeCloseTo(mean(spreads), 5);
  const differences = (dx: number, dy: number) => {
    const values: number[] = [];
    for (let y = 0; y < HEIGHT - dy; y++)
      for (let x = 0; x < WIDTH - dx; x++)
        for (let c = 0; c < 3; c++) values.push(Math.abs(frame[at(x + dx, y + dy, c)]! - frame[at(x, y, c)]!));
    return mean(values);
  };
  expect(measure.detail).toBeCloseTo((differences(1, 0) + differences(0, 1)) / 2, 5);
  expect(measure.colourEntropy).toBeGreaterThan(3);
  expect(measure).toMatchObject({ frame: 5, colourDrift: 0, collapse: 0, repetition: 1 });
});

test("colours: one of the levels has no entropy, halves of two have one bit, all have six", async () => {
  const still = (frame: Float32Array) => measured(frame, frame);
  expect((await still(picture(() => 0.75))).colourEntropy).toBeCloseTo(0, 5);
  expect((await still(picture((x) => (x < WIDTH / 2 ? -0.25 : 0.25)))).colourEntropy).toBeCloseTo(1, 5);
  const all = picture((x, y, c) => {
    const colour = (Math.floor(y / 2) * (WIDTH / 2) + Math.floor(x / 2)) % 64;
    return -0.75 + 0.5 * (Math.floor(colour / 4 ** c) % 4);
  });
  // 96 squares of 64 colours: 32 of them twice.
  const entropy = -(32 * (2 / 96) * Math.log2(2 / 96) + 32 * (1 / 96) * Math.log2(1 / 96));
  expect((await still(all)).colourEntropy).toBeCloseTo(entropy, 4);
});

test("repetition is the distance to the nearest earlier picture", async () => {
  const history = new DriftHistory();
  const [dark, light] = [picture(() => -0.5), picture(() => 0.5)];
  expect((await measured(dark, dark, history)).repetition).toBe(1);
  expect((await measured(light, dark, history)).repetition).toBeCloseTo(1, 5);
  expect(
    (
      await measured(
        picture(() => 0.4),
        dark,
        history,
      )
    ).repetition,
  ).toBeCloseTo(0.1, 5);
  expect((await measured(dark, light, history)).repetition).toBeCloseTo(0, 5);
});

test("a single colour has collapsed, the start itself has not", async () => {
  const start = { mean: [0, 0, 0], contrast: 0.4, detail: 0.04, colourEntropy: 4 } as const;
  expect(collapseScore(start, start)).toBe(0);
  expect(collapseScore({ ...start, detail: 0.01 }, start)).toBeCloseTo(0.75, 6);
  expect(collapseScore({ contrast: 0, detail: 0, colourEntropy: 0 }, start)).toBe(1);
  const flat = await measured(
    picture(() => 0.1),
    picture(() => 0.1),
  );
  expect(flat.contrast).toBeLessThan(1e-3);
});
