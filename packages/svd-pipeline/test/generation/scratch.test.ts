import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { Scratch } from "../../src/generation/scratch";
import type { GenerateOptions } from "../../src/types";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

describe("scratch arrays", () => {
  it("stay while their size does, and are apart by name", () => {
    const scratch = new Scratch();
    const first = scratch.floats("latents", 8);
    expect(scratch.floats("latents", 8)).toBe(first);
    expect(scratch.floats("picture", 8)).not.toBe(first);
    expect(scratch.floats("latents", 9)).toHaveLength(9);
    expect(scratch.floats("latents", 8)).not.toBe(first);
  });

  it("leave no trace in what comes next: other samplers, sizes, seeds and failures in between change nothing", async () => {
    const pipeline = await openTiny();
    const wanted = await pipeline.generate(QUICK);
    const kept = wanted.data.slice();
    const others: GenerateOptions[] = [
      { ...QUICK, seed: 8 },
      { ...QUICK, sampler: "euler_a" },
      { ...QUICK, width: 40 },
    ];
    for (const other of others) await pipeline.generate(other);
    const onProgress = ({ stage, step }: { stage: string; step: number }) => {
      if (stage === "denoise" && step === 1) throw new Error("no more");
    };
    await expect(pipeline.generate({ ...QUICK, seed: 9, onProgress })).rejects.toThrow("no more");
    const signal = AbortSignal.abort();
    expect((await failureOf(pipeline.generate({ ...QUICK, signal }))).code).toBe("cancelled");
    expect(sameBytes((await pipeline.generate(QUICK)).data, kept)).toBe(true);
    expect(sameBytes(wanted.data, kept)).toBe(true);
  });
});
