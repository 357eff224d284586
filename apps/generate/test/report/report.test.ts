import type { StageEvent } from "@vd/svd-pipeline/progress";
import { describe, expect, it, vi } from "vitest";
import type { Io } from "../../src/io";
import { makeReporter, type Reporter } from "../../src/report/reporter";
import { StageClock } from "../../src/report/stage-clock";

/** A reporter, what it wrote, and a clock to turn. */
async function reporterWith(options: { json?: boolean; quiet?: boolean; isTTY?: boolean }) {
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
  return { world, reporter: await makeReporter(io, { json, quiet }, { NO_COLOR: "1" }) };
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
  it("write plain lines where there is no terminal, at most one a second, with the time to the end of the run", async () => {
    const { world, reporter } = await reporterWith({});
    reporter.expect([
      { name: "denoise", estimatedUs: 6_000_000 },
      { name: "decode", estimatedUs: 2_000_000 },
      { name: "other", estimatedUs: 5_000_000 },
    ]);
    denoise(reporter, world, 6, 500_000);
    reporter.progress({ ...event("decode", 1, 2), message: "chunk 1" });
    reporter.warning("this is odd");
    expect(world.stdout).toBe("");
    // Twice as fast as expected: decoding will take 1 s, and the writing of 0.06 of all 0.24 s.
    expect(world.stderr.split("\n")).toEqual([
      "denoise  0/6",
      "denoise  2/6  2.00 it/s  ETA 3.24 s",
      "denoise  4/6  2.00 it/s  ETA 2.24 s",
      "denoise  6/6  2.00 it/s  ETA 1.24 s",
      expect.stringMatching(/^decode {3}1\/2 .*chunk 1$/),
      "Warning: this is odd.",
      "",
    ]);
  });

  it("draw one bar for the whole run on a terminal, which moves on while decoding says nothing", async () => {
    vi.useFakeTimers();
    try {
      const { world, reporter } = await reporterWith({ isTTY: true });
      const lastLine = () => world.stderr.match(/\[=* *\] [\w %/.]+/g)!.at(-1)!;
      const percent = () => Number(/(\d+) %/.exec(lastLine())?.[1]);
      reporter.expect([
        { name: "denoise", estimatedUs: 2_000_000 },
        { name: "decode", estimatedUs: 2_000_000 },
      ]);
      reporter.progress(event("load", 1, 1));
      const seen = [percent()];
      expect(seen[0]).toBeLessThan(5);
      for (let step = 0; step <= 4; step++) {
        reporter.progress(event("denoise", step, 4));
        await vi.advanceTimersByTimeAsync(200);
        seen.push(percent());
        world.nowUs += 1_000_000;
      }
      expect(lastLine()).toMatch(/^\[=+ +\] +\d\d % {2}denoise 4\/4 {2}1\.00 it\/s {2}ETA 4\.\d+ s/);
      reporter.note("A note.");
      expect(world.stderr).toMatch(/A note\.\n/);
      reporter.progress(event("decode", 0, 1));
      for (let second = 0; second < 6; second++) {
        await vi.advanceTimersByTimeAsync(200);
        seen.push(percent());
        world.nowUs += 1_000_000;
      }
      // It took 4 s of the expected time, and two more.
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(new Set(seen).size).toBeGreaterThan(8);
      expect(seen[5]).toBeGreaterThan(40);
      expect(seen[5]).toBeLessThan(55);
      expect(seen.at(-1)).toBeGreaterThan(88);
      expect(seen.at(-1)).toBeLessThan(100);
      reporter.progress(event("write", 2, 2));
      reporter.close();
      expect(percent()).toBe(100);
      expect(world.stdout).toBe("");
      const { stderr } = world;
      await vi.advanceTimersByTimeAsync(1000);
      expect(world.stderr).toBe(stderr);
    } finally {
      vi.useRealTimers();
    }
  });

  it("count a download in bytes", async () => {
    const { world, reporter } = await reporterWith({});
    reporter.progress(event("download", 0, 2 ** 33));
    world.nowUs += 2e6;
    reporter.progress({ ...event("download", 2 ** 27, 2 ** 33), message: "unet/model.safetensors" });
    const [, line] = world.stderr.split("\n");
    expect(line).toBe("download  128 MiB/8.00 GiB  64.0 MiB/s  ETA 2 min 06 s  unet/model.safetensors");
  });

  it("say only what is wrong when quiet", async () => {
    const { world, reporter } = await reporterWith({ quiet: true });
    denoise(reporter, world, 2, 1);
    reporter.note("Not this.");
    reporter.warning("but this");
    expect(world).toMatchObject({ stdout: "", stderr: "Warning: but this.\n" });
  });

  it("write one object per line as JSON", async () => {
    const { world, reporter } = await reporterWith({ json: true });
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
