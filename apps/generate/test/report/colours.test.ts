import { describe, expect, it } from "vitest";
import { paintFor } from "../../src/report/colours";
import { summaryText } from "../../src/report/summary";

const colours = (isTTY: boolean, variables: Parameters<typeof paintFor>[1]) =>
  paintFor({ isTTY, write() {} }, variables)("error", "x") !== "x";

describe("colours", () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [true, { TERM: "dumb" }, false],
    [false, { FORCE_COLOR: "1" }, true],
    [false, { FORCE_COLOR: "" }, true],
    [false, { FORCE_COLOR: "3", NO_COLOR: "1", TERM: "dumb" }, true],
    [true, { FORCE_COLOR: "0" }, false],
    [true, { FORCE_COLOR: "false" }, false],
  ])("of a terminal (%s) with %j: %s", (isTTY, variables, expected) => {
    expect(colours(isTTY, variables)).toBe(expected);
  });
});

describe("summaryText", () => {
  const summary = {
    ...{ output: "o.mp4", path: "/a/o.mp4", format: "mp4", encoder: "builtin", model: "owner/name" },
    ...{ numFrames: 1, width: 1024, height: 576, fps: 7, steps: 25, sampler: "heun", minGuidance: 1, maxGuidance: 3 },
    ...{
      seed: 7n,
      continuity: undefined,
      fileBytes: 2048,
      totalUs: 3_661_000_000,
      peakBytes: 1,
      peakRssBytes: 2 ** 30,
    },
    timings: { load: 1e6, image: 20_000, embed: 3e5, encode: 4e6, denoise: 3_600_000_000, decode: 50e6, write: 2e6 },
  };

  it("fits into 80 columns, and into fewer but for names", () => {
    const plain = paintFor({ write() {} }, {});
    expect(summaryText(summary, plain)).toMatchInlineSnapshot(`
      "model   owner/name
      size    1 frame of 1024x576 at 7 fps (0.14 s)
      steps   25, heun, guidance 1:3
      seed    7
      time    1 h 01 min: load 1.00 s, image 20 ms, embed 0.30 s, encode 4.00 s,
              denoise 1 h 00 min, decode 50.0 s, write 2.00 s
      memory  1.00 GiB
      file    /a/o.mp4 (2.00 KiB)
      "
    `);
    const narrow = summaryText(summary, plain, 40).split("\n");
    expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(47);
  });

  it("has the same words in colours", () => {
    const painted = summaryText(summary, paintFor({ isTTY: true, write() {} }, {}));
    const control = String.fromCharCode(27);
    expect(painted).toContain(`${control}[`);
    expect(painted.replaceAll(new RegExp(`${control}\\[\\d+m`, "g"), "")).toBe(
      summaryText(summary, paintFor({ write() {} }, {})),
    );
  });
});
