import type { GenerationEstimate, StageEstimate } from "@vd/svd-pipeline";
import { expect, it } from "vitest";
import { planTable } from "../../src/report/plan-table";

const stage = (name: string, device?: string): StageEstimate => ({
  ...{ name, numRows: 3, peakBytes: 2 ** 20, flops: 1e9, bytes: 2 ** 21, runs: 2, estimatedUs: 5e5 },
  ...(device !== undefined && { device }),
});
const PLAN: GenerationEstimate = {
  ...{
    stages: [stage("denoise")],
    weightBytes: 2 ** 22,
    peakBytes: 2 ** 20,
    flops: 2e9,
    estimatedUs: 1e6,
    warnings: [],
  },
};

it("a plan of one device says nothing of devices", () => {
  const lines = planTable(PLAN).split("\n");
  expect(lines.map((line) => line.split(" ")[0])).toEqual(["stage", "denoise", "total", "weights"]);
});

it.each([
  [true, "kept for the next generation"],
  [false, "while it denoises"],
])("a plan that streams weights says what it takes of the machine's memory, kept %s", (keepsPinned, howLong) => {
  const text = planTable({ ...PLAN, pinnedBytes: 3 * 2 ** 30, keepsPinned });
  expect(text.split("\n").at(-1)).toBe(`page-locked 3.00 GiB of the machine's memory, ${howLong}`);
});

it("a plan of several says who denoises and decodes what, what they exchange and how busy they are", () => {
  const rest = { peakBytes: 2 ** 20, weightBytes: 2 ** 21, receivedBytes: 2 ** 10, estimatedUs: 5e5 };
  const devices = [
    { ...rest, device: "cuda:0", rows: [0], frames: [0, 13] as const, share: 1 },
    { ...rest, device: "cuda:1", rows: [], frames: undefined, share: 0.25 },
  ];
  const text = planTable({ ...PLAN, stages: [stage("denoise", "cuda:0")], devices });
  expect(text).toContain("\ncuda:0 denoise ");
  const [header, first, second] = text.split("\n").slice(-3);
  expect(header).toMatch(/^device +denoises +decodes +peak memory +weights +received +estimate +busy$/);
  expect(first).toMatch(/^cuda:0 +unconditional +frames 0 to 12 .* 100 %$/);
  expect(second).toMatch(/^cuda:1 +- +- .* 25 %$/);
});
