import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { bundledProgram } from "../../../../tooling/testing/program";
import { openTiny, QUICK, temporaryFolder } from "../support/tiny-model";

const APP = fileURLToPath(new URL("../../../../apps/generate/", import.meta.url));
const mebibytes = (bytes: number) => bytes / 2 ** 20;

describe("memory", () => {
  it("does not grow with the number of generations, finished or cancelled", async () => {
    const pipeline = await openTiny();
    const options = { ...QUICK, width: 8, height: 8, numFrames: 1, maxGuidance: 1 };
    const once = async (i: number) => {
      const controller = new AbortController();
      const onProgress = ({ stage }: { stage: string }) => {
        if (i % 3 === 0 && stage === "decode") controller.abort();
      };
      await pipeline.generate({ ...options, seed: i, signal: controller.signal, onProgress }).catch((error) => {
        if (!controller.signal.aborted) throw error;
      });
    };
    for (let i = 0; i < 8; i++) await once(i);
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 30; i++) await once(i);
    // A generation holds about 10 MiB of weights and blocks at a time; one that was kept each time would be 300 MiB.
    expect(mebibytes(process.memoryUsage.rss() - before)).toBeLessThan(80);
  });

  it("of a whole process with the command's own settings stays below 600 MiB", async () => {
    const output = join(temporaryFolder(), "out.mp4");
    const program = await bundledProgram(join(APP, "src/cli.ts"));
    // All steps use the memory of the first.
    const words = ["--json", "--steps", "2", "--threads", "2", "-o", output];
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...words]);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const done = events.at(-1)!;
    expect(done).toMatchObject({ event: "done", numFrames: 14, width: 128, height: 128 });
    expect(mebibytes(done.peakRssBytes as number)).toBeLessThan(600);
    expect(mebibytes(done.peakRssBytes as number)).toBeGreaterThan(mebibytes(done.peakBytes as number));
  });
});
