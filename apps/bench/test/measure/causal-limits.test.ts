import { describe, expect, it } from "vitest";
import { causalModel } from "../support/causal-model";
import { TINY_SVD, vdBench } from "../support/harness";
import { CAUSAL_CASES, measureCausal } from "../support/measure-causal";

const GIB = 2 ** 30;
const NINE_FRAMES = ["--frames", "9", "--size", "64x48"];

describe("vd-bench vae --causal-limit", () => {
  it("measures what callers call within each limit, held against the other ways", async () => {
    const options = ["--causal-model", causalModel(), "--causal-limit", "0.5,1", "--no-reference"];
    const { row, stderr, status } = await measureCausal([...NINE_FRAMES, ...options]);
    expect(status, stderr).toBe(0);
    for (const suite of CAUSAL_CASES) {
      const plain = row(suite, "ours-plain")!;
      for (const limit of [0.5, 1]) {
        const within = row(suite, `ours-within-${limit}-gib`)!;
        expect(within.samplesUs, stderr).toHaveLength(2);
        expect(within.error, `${suite} ${limit}`).toBeLessThan(1e-5);
        expect(within.plannedBytes).toBeLessThanOrEqual(limit * GIB);
        expect(within).toMatchObject({ flops: plain.flops, bytes: plain.bytes, peakBytes: within.plannedBytes });
        expect(within.firstUs).toBeGreaterThan(0);
      }
    }
  });

  it("says what it would take where a limit is too low, and measures the others", async () => {
    const options = ["--causal-model", causalModel(), "--causal-limit", "0.0001", "--no-reference"];
    const { row, stderr } = await measureCausal([...NINE_FRAMES, ...options]);
    for (const suite of CAUSAL_CASES) {
      expect(row(suite, "ours-within-0.0001-gib")!.reason, stderr).toMatch(
        /or more for frames of 64 × 48, got 0\.10 MiB/,
      );
      expect(row(suite, "ours-optimised")!.error).toBeLessThan(1e-5);
    }
  });

  it("refuses limits that are none, and limits without the autoencoder", async () => {
    for (const limit of ["0", "-1", "8.6,", "much", "Infinity"]) {
      const { stderr, file } = await measureCausal(["--causal-model", "random", `--causal-limit=${limit}`]);
      expect(stderr).toBe(
        `Error: [--causal-limit] expected positive numbers of GiB, such as 8.6 or 5,8.6, got ${limit}\n`,
      );
      expect(file).toBeUndefined();
    }
    const alone = await vdBench(["vae", "-m", TINY_SVD, "--causal-limit", "8.6"]);
    expect(alone).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("[--causal-limit] expected --causal-model"),
    });
  });
});
