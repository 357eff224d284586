import { describe, expect, it } from "vitest";
import type { Io } from "../../src/io";
import { makeReporter, type Reporter } from "../../src/report/reporter";
import { StageClock, type StageEvent } from "../../src/report/stage-clock";

/** A reporter, what it wrote, and a clock to turn. */
function reporterWith(options: { json?: boolean; quiet?: boolean; isTTY?: boolean }) {
  const world = { stdout: "", stderr: "", nowUs: 0 };
  const io: Io = {
    stdout: {
      write: (text) => {
        world.stdout += text;
      },
    },
    stderr: terminal((text) => {
      world.stderr += text;
    }, options.isTTY ?? false),
    nowUs: () => world.nowUs,
  };
  const { json = false, quiet = false } = options;
  return { world, reporter: makeReporter(io, { json, quiet }) };
}

/** The part of a terminal's stream that a bar draws on. */
function terminal(write: (text: string) => void, isTTY: boolean) {
  return { isTTY, columns: 100, write, cursorTo() {}, clearLine() {}, moveCursor() {} };
}

function event(stage: StageEvent["stage"], step: number, steps: number): StageEvent {
  return { stage, step, steps, elapsedUs: 0 };
}

function denoise(reporter: Reporter, world: { nowUs: number }, numSteps: number, stepUs: number): void {
  for (let step = 0; step <= numSteps; step++) {
    reporter.progress(event("denoise", step, numSteps));
    world.nowUs += stepUs;
  }
}

describe("StageClock", () => {
  it("means over the stage and starts anew with the next", () => {
    let nowUs = 0;
    const clock = new StageClock(() => nowUs);
    expect(clock.update(event("denoise", 0, 10))).toEqual({ stepUs: undefined, etaUs: undefined });
    nowUs = 3_000_000;
    expect(clock.update(event("denoise", 2, 10))).toEqual({ stepUs: 1_500_000, etaUs: 12_000_000 });
    nowUs = 4_000_000;
    expect(clock.update(event("decode", 1, 4))).toEqual({ stepUs: undefined, etaUs: undefined });
    expect(clock.update({ ...event("load", 1, 4), stepUs: 5 })).toEqual({ stepUs: 5, etaUs: 15 });
  });
});

describe("reporters", () => {
  it("write plain lines where there is no terminal, at most one a second", () => {
    const { world, reporter } = reporterWith({});
    denoise(reporter, world, 6, 500_000);
    reporter.progress({ ...event("decode", 1, 2), message: "chunk 1" });
    reporter.warning("this is odd");
    expect(world.stdout).toBe("");
    expect(world.stderr.split("\n")).toEqual([
      "denoise  0/6",
      "denoise  2/6  2.00 it/s  ETA 2.00 s",
      "denoise  4/6  2.00 it/s  ETA 1.00 s",
      "denoise  6/6  2.00 it/s",
      "decode   1/2  chunk 1",
      "Warning: this is odd.",
      "",
    ]);
  });

  it("draw a bar with steps, rate and ETA on a terminal", () => {
    const { world, reporter } = reporterWith({ isTTY: true });
    reporter.progress(event("denoise", 0, 4));
    world.nowUs += 2_500_000;
    reporter.progress(event("denoise", 1, 4));
    reporter.note("A note.");
    expect(world.stderr).toContain("denoise  [=======                     ] 1/4  2.50 s/it  ETA 7.50 s");
    expect(world.stderr).toMatch(/\nA note\.\n/);
    reporter.progress(event("decode", 1, 2));
    world.nowUs += 1_000_000;
    reporter.progress(event("decode", 2, 2));
    expect(world.stderr).toContain("decode   [============================] 2/2  1.00 it/s  in 1.00 s");
    reporter.close();
    expect(world.stdout).toBe("");
  });

  it("count a download in bytes", () => {
    const { world, reporter } = reporterWith({});
    reporter.progress(event("download", 0, 2 ** 33));
    world.nowUs += 2e6;
    reporter.progress({ ...event("download", 2 ** 27, 2 ** 33), message: "unet/model.safetensors" });
    const [, line] = world.stderr.split("\n");
    expect(line).toBe("download  128 MiB/8.00 GiB  64.0 MiB/s  ETA 2 min 06 s  unet/model.safetensors");
  });

  it("say only what is wrong when quiet", () => {
    const { world, reporter } = reporterWith({ quiet: true });
    denoise(reporter, world, 2, 1);
    reporter.note("Not this.");
    reporter.warning("but this");
    expect(world).toMatchObject({ stdout: "", stderr: "Warning: but this.\n" });
  });

  it("write one object per line as JSON", () => {
    const { world, reporter } = reporterWith({ json: true });
    denoise(reporter, world, 1, 250_000);
    reporter.preview("p.webp", 1);
    reporter.warning("odd");
    const lines = world.stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { event: "progress", stage: "denoise", step: 0, steps: 1, elapsedUs: 0 },
      { event: "progress", stage: "denoise", step: 1, steps: 1, elapsedUs: 0, etaUs: 0 },
      { event: "preview", output: "p.webp", step: 1 },
      { event: "warning", message: "odd" },
    ]);
    expect(world.stderr).toBe("");
  });
});
