import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { verifyPrebuilds } from "@vd/kernels-native";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../../../../tooling/build/bundle.mjs";
import { sameBytes } from "../../support/measures";
import { TINY_SVD, temporaryFolder } from "../../support/tiny-model";

/** `VD_KILLS=100` for the long run. */
const NUM_KILLS = Number(process.env.VD_KILLS ?? 6);
const STEPS = 6;
const NUM_CHUNKS = 3;

/** What the child says; `isNew`: it has just computed the step. */
interface Said {
  stage: string;
  step: number;
  isNew: boolean;
}

let program: string;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-kill-"));
  await bundle({ child: "packages/svd-pipeline/test/generation/resume/kill-child.ts" }, folder);
  program = join(folder, "child.mjs");
  return () => rmSync(folder, { recursive: true, force: true });
});

/** Runs the child, and kills it once `kill` wants it, `afterMs` later. Returns what it said and the signal that ended it. */
async function runChild(resume: string, output: string, kill?: { at(said: Said): boolean; afterMs: number }) {
  const child = spawn(process.execPath, [program, TINY_SVD, resume, output], {
    env: { ...process.env, VD_ADDON: verifyPrebuilds()[0]!.path },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said: Said[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const last = JSON.parse(line) as Said;
    said.push(last);
    if (kill?.at(last)) setTimeout(() => child.kill("SIGKILL"), kill.afterMs);
  });
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  if (status !== 0 && signal !== "SIGKILL") throw new Error(`the child ended with ${status} ${signal}`);
  return { said, signal };
}

/** A generator of numbers from 0 to 1 that a failure can be repeated with. Source: Steele and Vigna, SplitMix32. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Moments of a run: once it has begun, after each step, in decoding. */
const MOMENTS = 1 + 2 + STEPS + NUM_CHUNKS;

const newSteps = (said: readonly Said[]) => said.filter(({ stage, isNew }) => stage === "denoise" && isNew);

describe.skipIf(process.platform === "win32")("a killed generation", () => {
  it(`gives the same bits after ${NUM_KILLS} kills and never takes a step twice that was kept`, async () => {
    const folder = temporaryFolder();
    const whole = join(folder, "whole");
    await runChild(join(folder, "state 0"), whole);
    const random = numbersFrom(Number(process.env.VD_KILL_SEED ?? 1));
    let [numKills, run] = [0, 0];
    while (numKills < NUM_KILLS) {
      const [resume, output] = [join(folder, `state ${++run}`), join(folder, `frames ${run}`)];
      let done = 0;
      while (!existsSync(output)) {
        // A moment a little later than the one before on average, so that runs are killed in all their parts.
        const moment = 1 + Math.floor(random() * MOMENTS);
        let numSaid = 0;
        const at = () => ++numSaid === moment;
        const child = await runChild(resume, output, numKills < NUM_KILLS ? { at, afterMs: random() * 30 } : undefined);
        if (child.signal === "SIGKILL") numKills++;
        const steps = newSteps(child.said).map(({ step }) => step);
        // The step that it was killed in may be lost, and no other one.
        if (steps[0] !== undefined) expect(steps[0]).toBeGreaterThanOrEqual(done);
        expect(steps).toEqual(steps.map((_, i) => steps[0]! + i));
        done = Math.max(done, ...steps);
      }
      expect(sameBytes(readFileSync(output), readFileSync(whole))).toBe(true);
      expect(readdirSync(resume).filter((name) => name.endsWith(".tmp") || name.startsWith("lock"))).toEqual([]);
    }
  }, 3_600_000);
});
