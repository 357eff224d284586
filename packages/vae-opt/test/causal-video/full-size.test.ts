import { allocateBuffer, type Device } from "@vd/kernels-native";
import { layoutGraph, makeStorage, packedBytes, type WeightEntry, Weights } from "@vd/tensor";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StreamMemory } from "../../src/causal-video/frame-memory";
import { layoutPiece, type PartName } from "../../src/causal-video/piece-layout";
import { turnBytes } from "../../src/causal-video/planning";
import { causalVaeTensors } from "../../src/causal-video/tensors";
import { CausalVideoAutoencoder, rewriteOf, SEEDVR2_VAE_CONFIG, type StreamPlan } from "../../src/index";

const GIB = 2 ** 30;
const NOTHING_FUSED = { fusedSilu: false, fusedUpsample: false, fusedNorm: false, winograd: false, fp8: false };

/** A plan in words, with GiB on the device, and in host memory where it needs any. */
function describePlan({
  latentsPerRun,
  framesAtOnce,
  stripHeight,
  latentsPerTurn,
  bytes,
  hostBytes,
}: StreamPlan): string {
  const memory = [bytes, hostBytes].filter((each) => each > 0).map((each) => (each / GIB).toFixed(1));
  const where = latentsPerTurn === undefined ? `${latentsPerRun} at once` : "in turns";
  const how = stripHeight === undefined ? `${where}, ${framesAtOnce} frames at a time` : `strips of ${stripHeight}`;
  return `${how}: ${memory.join(" and ")}`;
}

describe("SeedVR2's autoencoder at full size in float16, clips of any length", () => {
  beforeEach(() => void vi.spyOn(process, "availableMemory").mockReturnValue(128 * GIB));
  afterEach(() => vi.restoreAllMocks());

  const tensors = [...causalVaeTensors(SEEDVR2_VAE_CONFIG)];
  const bytesOf = ({ shape }: (typeof tensors)[number]) => packedBytes(shape, "f16");
  const buffer = allocateBuffer(Math.max(...tensors.map(bytesOf)));
  const entryOf = (tensor: (typeof tensors)[number]): WeightEntry => {
    const storage = makeStorage("weights", bytesOf(tensor), tensor.name, { buffer, byteOffset: 0 });
    return { dtype: "f16", shape: tensor.shape, storage, byteOffset: 0 };
  };
  const weights = Weights.fromEntries("SeedVR2", new Map(tensors.map((tensor) => [tensor.name, entryOf(tensor)])));
  const device = { kind: "cuda" } as unknown as Device;
  const open = () => CausalVideoAutoencoder.fromWeights(weights, SEEDVR2_VAE_CONFIG, { device });

  it.each([
    [1280, 720, 80, "4 at once, 16 frames at a time: 14.7", "4 at once, 16 frames at a time: 26.2"],
    [1280, 720, 16, "4 at once, 16 frames at a time: 14.7", "1 at once, 4 frames at a time: 13.0"],
    [1280, 720, 12, "2 at once, 8 frames at a time: 9.3", "1 at once, 2 frames at a time: 11.7"],
    [1280, 720, 9, "1 at once, 4 frames at a time: 6.6", "in turns, 2 frames at a time: 8.5 and 10.9"],
    [1280, 720, 8.6, "1 at once, 4 frames at a time: 6.6", "in turns, 2 frames at a time: 8.5 and 10.9"],
    [1280, 720, 7.5, "1 at once, 4 frames at a time: 6.6", "in turns, 1 frames at a time: 7.5 and 10.9"],
    [1280, 720, 7, "1 at once, 4 frames at a time: 6.6", "strips of 36: 5.9 and 11.3"],
    [1280, 720, 5, "in turns, 1 frames at a time: 4.8 and 6.8", "strips of 28: 4.8 and 10.9"],
    [1920, 1080, 80, "4 at once, 16 frames at a time: 32.8", "4 at once, 16 frames at a time: 58.7"],
    [1920, 1080, 24, "2 at once, 8 frames at a time: 20.7", "1 at once, 1 frames at a time: 23.5"],
    [1920, 1080, 20, "1 at once, 4 frames at a time: 14.7", "in turns, 2 frames at a time: 18.7 and 24.6"],
    [1920, 1080, 16, "1 at once, 4 frames at a time: 14.7", "strips of 60: 14.2 and 21.1"],
    [1920, 1080, 12, "1 at once, 2 frames at a time: 11.9", "strips of 44: 10.9 and 20.6"],
  ])("is cut at %dx%d within %d GiB", async (width, height, gibibytes, encode, decode) => {
    const plans = await (await open()).plan({ width, height, maxBytes: gibibytes * GIB });
    expect([describePlan(plans.encode), describePlan(plans.decode)]).toEqual([encode, decode]);
    for (const { bytes } of Object.values(plans)) expect(bytes).toBeLessThanOrEqual(gibibytes * GIB);
  });

  it.each([
    ["decode", 2, [4, 2]],
    ["decode", 1, [1, 1]],
    ["encode", 1, [1, 4]],
  ] as const)("computes more frames at a time in the turn that takes less: %s, %i", async (direction, frames, each) => {
    const shape = { height: 90, width: 160, latentsPerRun: 1, framesAtOnce: frames };
    expect((await turnBytes(await open(), direction, shape)).framesAtOnce).toEqual(each);
  });

  it.each(["encode", "decode"] as const)(
    "has each norm's statistics found in turns as in the whole model: %s",
    async (direction) => {
      const vae = await open();
      /** Norms whose statistics are found by convolutions, and others. */
      const normsOf = async (part: PartName) => {
        const shape = { part, height: 90, width: 160, latentsPerRun: 1, framesAtOnce: 1 };
        const piece = { latents: 1, begins: false, stream: new StreamMemory() };
        const { rows } = (await layoutPiece(vae, direction, shape, piece)).graph;
        return rows
          .filter(({ op }) => op.startsWith("group_norm"))
          .map(({ op, name, inputs }) => `${op} ${name} ${inputs.map(Boolean)}`);
      };
      const inTurns = [...(await normsOf("outer")), ...(await normsOf("inner"))];
      const whole = await normsOf("all");
      expect(whole.filter((norm) => norm.startsWith("group_norm_stats")).length).toBeGreaterThan(10);
      expect(new Set(inTurns)).toEqual(new Set(whole));
    },
  );

  it.each([
    ["encode", [1, 21, 720, 1280, 3], undefined, 178.4],
    ["decode", [1, 6, 90, 160, 16], undefined, 463.3],
    ["encode", [1, 21, 720, 1280, 3], NOTHING_FUSED, 178.4],
    ["decode", [1, 6, 90, 160, 16], NOTHING_FUSED, 463.5],
  ] as const)(
    "takes as much work as the page says to %s %j, fused or not",
    async (direction, dims, switches, tflop) => {
      const { model } = await open();
      const { cost } = layoutGraph(
        (g) => {
          const rewrite = switches && rewriteOf(switches);
          if (rewrite) g.rewriteCalls(rewrite);
          g.output("y", model[direction](g, g.input("x", dims)));
        },
        { dtype: "f16" },
      );
      expect(cost.flops / 1e12).toBeCloseTo(tflop, 1);
    },
  );

  it("says how much of the machine's memory strips would need where that is what is short", async () => {
    const request = { width: 1280, height: 720, maxBytes: 8 * GIB };
    await expect((await open()).plan({ ...request, maxBytes: 2 * GIB })).rejects.toMatchObject({
      ...{ code: "memory", hint: "Take smaller frames or raise maxBytes." },
    });
    vi.spyOn(process, "availableMemory").mockReturnValue(8 * GIB);
    await expect((await open()).plan(request)).rejects.toMatchObject({
      ...{
        code: "memory",
        hint: expect.stringMatching(
          /^With 1\d\.\d+ GiB of the machine's memory, of which 7\.20 GiB are left, it would fit\.$/,
        ),
      },
    });
  });
});
