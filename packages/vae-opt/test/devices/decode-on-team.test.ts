import { readFileSync } from "node:fs";
import { type DeviceBuffer, openDevice, VdError } from "@vd/kernels-native";
import { DeviceTeam, decodeStored, type GraphLayout, layoutGraph, Plan, type TeamMember, Weights } from "@vd/tensor";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { decodeStage, type VaeStage } from "../../src/decoding/stages";
import { decodeOnTeam, type TeamDecode } from "../../src/devices/decode-on-team";
import { decodePart, receivedBytes } from "../../src/devices/decode-part";
import { frameRuns } from "../../src/devices/frame-runs";
import { parseVaeConfig, temporalVae } from "../../src/index";
import { noise } from "../support/run-module";

const dir = "models/tiny-svd/vae";
const config = parseVaeConfig(JSON.parse(readFileSync(`${dir}/config.json`, "utf8")));
const vae = temporalVae(Weights.open(dir), config);
const SHAPE = { numFrames: 5, height: 4, width: 5, dtype: "f32" as const };
const latents = noise(5 * 4 * 4 * 5);

const layouts = new Map<string, GraphLayout>();
const layoutOf = async ({ key, build, dtype }: VaeStage) => {
  const layout = layouts.get(key) ?? layoutGraph(build, { dtype });
  layouts.set(key, layout);
  return layout;
};

/** Plans that are loaded and not freed. */
let numLoaded = 0;
const loadOn = async ({ device }: TeamMember, stage: VaeStage, arena: DeviceBuffer) => {
  const plan = await Plan.load(device, await layoutOf(stage), { arena });
  numLoaded++;
  const release = async () => {
    numLoaded--;
    await plan.free();
  };
  return { plan, release };
};

const teamOf = (size: number) =>
  new DeviceTeam(
    Array.from({ length: size }, (_, i) => ({ device: openDevice("cpu", { threads: 1 }), label: `cpu:${i}` })),
  );

function job(size: number, { chunkFrames, load = loadOn }: { chunkFrames?: number; load?: TeamDecode["load"] } = {}) {
  layouts.clear();
  const parts = frameRuns(SHAPE.numFrames, size).map((run) => decodePart(vae, SHAPE, run, chunkFrames));
  return { team: teamOf(size), parts, latents, layoutOf, load };
}

let whole: { frames: Float32Array; levels: Uint8Array };
beforeAll(async () => {
  const { build, dtype } = decodeStage(vae, SHAPE, undefined);
  const plan = await Plan.load(openDevice("cpu", { threads: 2 }), layoutGraph(build, { dtype }));
  await plan.write("latents", latents);
  await plan.run();
  whole = { frames: await plan.read("frames"), levels: await plan.readBytes("levels") };
  await plan.free();
});

describe("runs of frames", () => {
  it("are as even as can be and know their neighbours", () => {
    expect(frameRuns(25, 2)).toEqual([
      { begin: 0, end: 13, neighbours: [false, true] },
      { begin: 13, end: 25, neighbours: [true, false] },
    ]);
    expect(frameRuns(25, 4).map(({ begin, end }) => end - begin)).toEqual([7, 6, 6, 6]);
    expect(frameRuns(2, 4).map(({ begin, end }) => [begin, end])).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });
});

describe("a decode on several devices", () => {
  it.each([
    [1, undefined],
    [2, undefined],
    [3, 1],
    [8, undefined],
  ])("gives what one device gives: %i devices, %s frames at a time", async (size, chunkFrames) => {
    const made = await decodeOnTeam(job(size, { ...(chunkFrames && { chunkFrames }) }));
    const frames = decodeStored(made.frames.bytes, made.frames.dtype);
    const worst = frames.reduce((most, value, i) => Math.max(most, Math.abs(value - whole.frames[i]!)), 0);
    expect(frames.length).toBe(whole.frames.length);
    expect(worst).toBeLessThan(2e-5);
    expect(made.levels.every((level, i) => Math.abs(level - whole.levels[i]!) <= 1)).toBe(true);
    expect(numLoaded).toBe(0);
  });

  it("would differ where the neighbours' frames or the others' statistics were missing", async () => {
    const alone = { ...SHAPE, numFrames: 3 };
    layouts.clear();
    const parts = frameRuns(3, 1).map((run) => decodePart(vae, alone, run));
    const made = await decodeOnTeam({ ...job(1), parts, latents: latents.subarray(0, 3 * 4 * 4 * 5) });
    const frames = decodeStored(made.frames.bytes, made.frames.dtype);
    const worst = frames.reduce((most, value, i) => Math.max(most, Math.abs(value - whole.frames[i]!)), 0);
    expect(worst).toBeGreaterThan(1e-3);
  });

  it("names the device that fails, and leaves nothing on either", async () => {
    let numRuns = 0;
    const load: TeamDecode["load"] = async (member, stage, arena) => {
      const loaded = await loadOn(member, stage, arena);
      if (member.index !== 1) return loaded;
      const queue = loaded.plan.queue.bind(loaded.plan);
      loaded.plan.queue = async (options) => {
        if (++numRuns === 4)
          throw new VdError({ code: "driver", where: "run", expected: "a working device", got: "one that was lost" });
        return queue(options);
      };
      return loaded;
    };
    const error = await failureOf(decodeOnTeam(job(2, { load })));
    expect([error.code, error.where]).toEqual(["driver", "cpu:1] [run"]);
    expect(error.hint).toContain("leave cpu:1 (CPU) out");
    expect(numLoaded).toBe(0);
    await decodeOnTeam(job(2));
  });

  it("can be cancelled between its steps", async () => {
    const stop = new AbortController();
    const load: TeamDecode["load"] = async (...args) => {
      const loaded = await loadOn(...args);
      if (numLoaded > 20) stop.abort();
      return loaded;
    };
    const error = await failureOf(decodeOnTeam({ ...job(2, { load }), signal: stop.signal }));
    expect(error.code).toBe("cancelled");
    expect(numLoaded).toBe(0);
  });
});

it("takes one frame of each map from each neighbour", () => {
  const [first, , last] = frameRuns(6, 3);
  const shape = { ...SHAPE, numFrames: 6 };
  const own = receivedBytes(vae, shape, first!);
  expect(receivedBytes(vae, shape, last!)).toBe(own);
  expect(receivedBytes(vae, shape, frameRuns(6, 3)[1]!)).toBe(2 * own);
  const part = decodePart(vae, shape, first!);
  const frameBytes = part.steps.flatMap(({ exchange }) => (exchange ? [exchange.map] : []));
  const bytes = frameBytes.reduce((sum, { dims }) => sum + 4 * dims[2]! * dims[3]! * dims[4]!, 0);
  expect(own).toBe(bytes);
});
