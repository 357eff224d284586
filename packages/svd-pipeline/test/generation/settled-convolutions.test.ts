import type * as Kernels from "@vd/kernels-native";
import type { Device } from "@vd/kernels-native";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { GenerationContext } from "../../src/generation/context";
import { decodesBesideTransforms } from "../../src/generation/layout-stages";
import type { GenerateOptions } from "../../src/index";
import type { OpenModel } from "../../src/opening/open-model";
import type { Convolutions } from "../../src/options/choices";
import { openTiny, QUICK } from "../support/tiny-model";

vi.mock("@vd/kernels-native", async (original) => ({
  ...(await original<typeof Kernels>()),
  devices: () => [{ kind: "cuda", name: "Hopper", usable: true, reason: "", computeCapability: "9.0" }],
}));

const MEBIBYTE = 2 ** 20;
const GIB = 2 ** 30;

/** A pipeline's inside. */
interface Inside {
  opened: OpenModel;
  context(options: GenerateOptions, scratch?: undefined, keepsStages?: boolean): Promise<GenerationContext>;
}

describe("convolutions of a generation on a Hopper GPU", () => {
  let inside: Inside;
  let opened: OpenModel;
  beforeAll(async () => {
    inside = (await openTiny()) as unknown as Inside;
    opened = inside.opened;
  });

  function settled(
    gibibytes: number,
    more: { convolutions?: Convolutions; keepsStages?: boolean; request?: Partial<GenerateOptions> } = {},
  ) {
    const memory = async () => ({ freeBytes: gibibytes * GIB, totalBytes: gibibytes * GIB, residentBytes: 0 });
    const device = { kind: "cuda", name: "Hopper", memory } as unknown as Device;
    const layers = { ...opened.layers, convolutions: more.convolutions ?? "auto" };
    inside.opened = { ...opened, device, precision: "float16", layers };
    return inside.context({ ...QUICK, ...more.request }, undefined, more.keepsStages);
  }
  const methodWith = async (...given: Parameters<typeof settled>) => (await settled(...given)).shape.convolutions;

  it("take all transforms that leave room for the denoiser beside the weights", async () => {
    expect(await methodWith(80)).toBe("winograd");
    // What a small model needs is there on a small card.
    expect(await methodWith(1)).toBe("winograd");
    // Not even what lies beside the plans.
    expect(await methodWith(0.3)).toBe("direct");
  });

  it("leave the decoder's transforms out where they would have it decode in smaller pieces", async () => {
    const request = { numFrames: 14, width: 128, height: 128 };
    /** Whether they would not, in so much memory, of a decoder with so many bytes of transforms. */
    const decodes = async (gibibytes: number, bytes: number, more: Partial<GenerateOptions> = {}) => {
      const context = await settled(gibibytes, { request: { ...request, ...more } });
      const { layouts } = context;
      const memoryOf: typeof layouts.memoryOf = async (stage, signal) => {
        const memory = await layouts.memoryOf(stage, signal);
        const more = stage.name === "decode" ? bytes : 0;
        return {
          ...memory,
          weightBytes: memory.weightBytes + more,
          transformedBytes: memory.transformedBytes + more,
        };
      };
      return decodesBesideTransforms({ ...context, layouts: Object.assign(Object.create(layouts), { memoryOf }) });
    };
    expect(await decodes(80, 64 * MEBIBYTE)).toBe(true);
    expect(await decodes(0.5, 64 * MEBIBYTE)).toBe(false);
    expect(await decodes(0.5, 0)).toBe(true);
    expect(await decodes(0.5, 64 * MEBIBYTE, { decodeChunk: 1 })).toBe(true);
    expect(await decodes(0.5, 64 * MEBIBYTE, { outputType: "latent" })).toBe(true);
  });

  it("are those that were asked for, whatever the memory", async () => {
    for (const convolutions of ["direct", "winograd"] as const)
      for (const gibibytes of [80, 0.3]) expect(await methodWith(gibibytes, { convolutions })).toBe(convolutions);
  });

  it("take few transforms where stages stay loaded", async () => {
    const context = await settled(80, { keepsStages: true });
    expect(context).toMatchObject({ keepsStages: true, shape: { convolutions: "compact" } });
    expect(await methodWith(5, { keepsStages: true })).toBe("direct");
  });

  it("keep the layouts that were looked at for the next generation", async () => {
    const first = await settled(80);
    await settled(0.3);
    const next = await settled(80);
    expect(next.layouts).toBe(first.layouts);
    expect((await settled(80, { convolutions: "direct" })).layouts).not.toBe(first.layouts);
  });
});
