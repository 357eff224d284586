import { allocateBuffer, type Device } from "@vd/kernels-native";
import { layoutGraph, makeStorage, packedBytes, type WeightEntry, Weights } from "@vd/tensor";
import {
  CausalVideoAutoencoder,
  chooseDecodePieces,
  describePieces,
  SEEDVR2_VAE_CONFIG,
  tileStages,
  type VaeStage,
} from "@vd/vae-opt";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { causalVaeTensors } from "../../../vae-opt/src/causal-video/tensors";
import { decodeStage } from "../../../vae-opt/src/decoding/stages";
import { makeModels } from "../../src/opening/models";
import { decodeShape } from "../../src/stages/definitions";
import { svdXt } from "../support/svd-xt";

const GIB = 2 ** 30;

describe("Stable Video Diffusion's autoencoder at full size, 25 frames in float16", () => {
  const { vae } = makeModels(svdXt());

  it.each([
    [1024, 576, 4, "in tiles: 11 blocks whole", 1.08],
    [1024, 576, 3, "in tiles: 11 blocks whole", 1.09],
    [1024, 576, 2, "in tiles: 8 blocks whole", 1.1],
    [2048, 1152, 24, "3 frames at a time", 1.08],
    [2048, 1152, 10, "in tiles: 11 blocks whole", 1.09],
    [2048, 1152, 4, "in tiles: 5 blocks whole", 1.09],
  ])("decodes %dx%d within %d GiB", async (width, height, gibibytes, how, mostWork) => {
    const shape = decodeShape(
      { numFrames: 25, width, height, factor: 8, rows: 2, decodeChunk: undefined, dtype: "f16" },
      25,
    );
    const looks = new Map<string, ReturnType<typeof lookAt>>();
    const lookAt = ({ build, dtype }: VaeStage) => {
      const { memory, cost } = layoutGraph(build, { dtype });
      return { bytes: memory.peakBytes + memory.weightBytes, flops: cost.flops };
    };
    const look = (stage: VaeStage) => {
      const known = looks.get(stage.key) ?? lookAt(stage);
      looks.set(stage.key, known);
      return known;
    };
    const budgetBytes = gibibytes * GIB;
    const { pieces, bytes, fits } = await chooseDecodePieces(vae, shape, {
      budgetBytes,
      bytesOf: async (stage) => look(stage).bytes,
    });
    expect(fits).toBe(true);
    expect(describePieces(pieces)).toContain(how);
    const { tiles, chunkFrames } = pieces;
    const stages = tiles
      ? tileStages(vae, shape, tiles)
      : [{ stage: decodeStage(vae, shape, chunkFrames), runs: 1, heldBytes: 0 }];
    const peak = Math.max(...stages.map(({ stage, heldBytes }) => look(stage).bytes + heldBytes));
    expect(peak).toBeLessThanOrEqual(bytes);
    expect(bytes).toBeLessThanOrEqual(budgetBytes);
    // Memory that there is is used.
    expect(bytes).toBeGreaterThan(0.93 * budgetBytes);
    const flops = stages.reduce((sum, { stage, runs }) => sum + runs * look(stage).flops, 0);
    expect(flops / look(decodeStage(vae, shape, undefined)).flops).toBeLessThan(mostWork);
  });

  it.each([
    [1024, 576, "f32", 0.91],
    [1024, 576, "f16", 0.49],
    [2048, 1152, "f32", 3.47],
    [2048, 1152, "f16", 1.76],
  ] as const)("encodes a picture of %dx%d in %s", (width, height, dtype, gibibytes) => {
    const { memory } = layoutGraph(
      function* (g) {
        g.output("moments", yield* vae.encode.inPieces(g, g.input("pixels", [1, 1, height, width, 3])));
      },
      { dtype },
    );
    expect((memory.peakBytes + memory.weightBytes) / GIB).toBeCloseTo(gibibytes, 2);
  });
});

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
    [1280, 720, 80, [4, 16, undefined], [4, 16, undefined]],
    [1280, 720, 16, [2, 8, undefined], [1, 4, undefined]],
    [1280, 720, 8, [1, 4, undefined], [1, 1, 36]],
    [1920, 1080, 80, [4, 16, undefined], [2, 8, undefined]],
    [1920, 1080, 24, [1, 4, undefined], [1, 1, 76]],
    [1920, 1080, 16, [1, 2, undefined], [1, 1, 44]],
    [1920, 1080, 12, [1, 1, 70], [1, 1, 36]],
  ])("is cut at %dx%d within %d GiB", async (width, height, gibibytes, encode, decode) => {
    const plan = await (await open()).plan({ width, height, maxBytes: gibibytes * GIB });
    for (const [direction, cut] of Object.entries({ encode, decode })) {
      const { latentsPerRun, framesAtOnce, stripHeight, bytes } = plan[direction as keyof typeof plan];
      expect([latentsPerRun, framesAtOnce, stripHeight]).toEqual(cut);
      expect(bytes).toBeLessThanOrEqual(gibibytes * GIB);
    }
  });

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
          /^With 1\d{4} MiB of the machine's memory, of which 7373 MiB are left, it would fit\.$/,
        ),
      },
    });
  });
});
