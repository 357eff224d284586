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
const NUM_KILLS = Number(process.env.VD_KILLS ?? 2);
const STEPS = 6;
const NUM_CHUNKS = 3;

/** A clip, and a longer video of two clips. numSteps, numChunks: of all clips. */
const ONE_CLIP = { options: {}, numSteps: STEPS, numChunks: NUM_CHUNKS };
const TWO_CLIPS = { options: { numFrames: 5, clipFrames: 3, overlap: 1 }, numSteps: 2 * STEPS, numChunks: 5 };
const SAVED_CALLS = {
  ...TWO_CLIPS,
  options: { ...TWO_CLIPS.options, guidanceMinSigma: 0.2, featureInterval: 3, skipThreshold: 0.02 },
};

/** What the child says; `isNew`: it has just computed the step. */
interface Said {
  stage: string;
  step: number;
  isNew: boolean;
  message?: string;
  sha256?: string;
}

let program: string;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-kill-"));
  await bundle({ child: "packages/svd-pipeline/test/generation/resume/kill-child.ts" }, folder);
  program = join(folder, "child.mjs");
  return () => rmSync(folder, { recursive: true, force: true });
});

/** Runs the child, and kills it once `kill` wants it, `afterMs` later. Returns what it said and the signal that ended it. */
async function runChild(
  resume: string,
  output: string,
  { options }: { options: object },
  kill?: { at(said: Said): boolean; afterMs: number },
  [command, ...words]: readonly [string, ...string[]] = [process.execPath],
) {
  const child = spawn(command, [...words, program, TINY_SVD, resume, output, JSON.stringify(options)], {
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
  return { said, signal, status };
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

const newSteps = (said: readonly Said[]) => said.filter(({ stage, isNew }) => stage === "denoise" && isNew);

describe.skipIf(process.platform === "win32")("a killed generation", () => {
  it.each([
    ["a clip", ONE_CLIP],
    ["a longer video", TWO_CLIPS],
    ["a longer video that saves calls", SAVED_CALLS],
  ] as const)(
    `gives the same bits after ${NUM_KILLS} kills and never takes a step twice that was kept: %s`,
    async (_, video) => {
      // Once it has begun, after each step, in decoding.
      const moments = 1 + 2 + video.numSteps + video.numChunks;
      const folder = temporaryFolder();
      const whole = join(folder, "whole");
      expect((await runChild(join(folder, "state 0"), whole, video)).status).toBe(0);
      const random = numbersFrom(Number(process.env.VD_KILL_SEED ?? 1));
      let [numKills, run] = [0, 0];
      while (numKills < NUM_KILLS) {
        const [resume, output] = [join(folder, `state ${++run}`), join(folder, `frames ${run}`)];
        let done = 0;
        while (!existsSync(output)) {
          // A moment a little later than the one before on average, so that runs are killed in all their parts.
          const moment = 1 + Math.floor(random() * moments);
          let numSaid = 0;
          const at = () => ++numSaid === moment;
          const kill = numKills < NUM_KILLS ? { at, afterMs: random() * 30 } : undefined;
          const child = await runChild(resume, output, video, kill);
          if (child.signal === "SIGKILL") numKills++;
          else expect(child.status).toBe(0);
          const steps = newSteps(child.said).map(({ step }) => step);
          // The step that it was killed in may be lost, and no other one.
          if (steps[0] !== undefined) expect(steps[0]).toBeGreaterThanOrEqual(done);
          expect(steps).toEqual(steps.map((_, i) => steps[0]! + i));
          done = Math.max(done, ...steps);
        }
        expect(sameBytes(readFileSync(output), readFileSync(whole))).toBe(true);
        expect(readdirSync(resume).filter((name) => name.endsWith(".tmp") || name.startsWith("lock"))).toEqual([]);
      }
    },
    3_600_000,
  );

  it("goes on without a state where a disk takes no more, and leaves nothing half-written", async () => {
    const folder = temporaryFolder();
    const [resume, output] = [join(folder, "state"), join(folder, "frames")];
    const whole = await runChild(join(folder, "whole state"), join(folder, "whole"), ONE_CLIP);
    // Files may have 4 KiB: writing a step fails in its middle, as on a disk that is full. So does writing the frames, in the end.
    const limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 4; exec "$@"', "bash", process.execPath] as const;
    const { said, status } = await runChild(resume, output, ONE_CLIP, undefined, limited);
    const told = said.flatMap(({ message }) => message ?? []);
    expect(told).toHaveLength(STEPS + NUM_CHUNKS);
    for (const text of told)
      expect(text).toMatch(/^The state in .* was not written \(a file too large for the file system/);
    const frames = (all: readonly Said[]) => all.find(({ stage }) => stage === "frames")?.sha256;
    expect([frames(said), status]).toEqual([frames(whole.said), 1]);
    expect(readdirSync(resume).sort()).toEqual(["latents.safetensors", "picture.safetensors", "state.json"]);
  });
});
