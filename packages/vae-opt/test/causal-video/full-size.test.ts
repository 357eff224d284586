import { allocateBuffer, type Device } from "@vd/kernels-native";
import { layoutGraph, makeStorage, packedBytes, type WeightEntry, Weights } from "@vd/tensor";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { causalVaeTensors } from "../../src/causal-video/tensors";
import { CausalVideoAutoencoder, rewriteOf, SEEDVR2_VAE_CONFIG } from "../../src/index";

const GIB = 2 ** 30;
const NOTHING_FUSED = { fusedSilu: false, fusedUpsample: false, fusedNorm: false, winograd: false, fp8: false };

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
    [1280, 720, 16, [4, 16, undefined], [1, 4, undefined]],
    [1280, 720, 12, [2, 8, undefined], [1, 2, undefined]],
    [1280, 720, 8, [1, 4, undefined], [1, 1, 44]],
    [1920, 1080, 80, [4, 16, undefined], [4, 16, undefined]],
    [1920, 1080, 24, [2, 8, undefined], [1, 1, undefined]],
    [1920, 1080, 16, [1, 4, undefined], [1, 1, 60]],
    [1920, 1080, 12, [1, 2, undefined], [1, 1, 44]],
  ])("is cut at %dx%d within %d GiB", async (width, height, gibibytes, encode, decode) => {
    const plan = await (await open()).plan({ width, height, maxBytes: gibibytes * GIB });
    for (const [direction, cut] of Object.entries({ encode, decode })) {
      const { latentsPerRun, framesAtOnce, stripHeight, bytes } = plan[direction as keyof typeof plan];
      expect([latentsPerRun, framesAtOnce, stripHeight]).toEqual(cut);
      expect(bytes).toBeLessThanOrEqual(gibibytes * GIB);
    }
  });

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
