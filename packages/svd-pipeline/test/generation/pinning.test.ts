import { type CompileOptions, Device, type Program, VdError } from "@vd/kernels-native";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import { PinnedWeights, streamBytesOf } from "../../src/stages/pinned-weights";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

const GIB = 2 ** 30;
/** Through what the weights of stages pass that run once. */
const ONCE = streamBytesOf(0);
const LOWEST = { ...QUICK, memory: "lowest" } as const;

/** A GPU that computes as the CPU does, with too little memory for weights to stay there; what is done with it. */
function smallGpu() {
  const cpu = Device.cpu({ threads: 2 });
  const seen = { trims: 0, streamed: [] as number[], residentBytes: 0, refuses: false };
  const compile = async (
    ...[words, names, bindings, options = {}]: Parameters<Device["compile"]>
  ): Promise<Program> => {
    const { streamBytes = 0, capture: _, ...rest }: CompileOptions = options;
    if (streamBytes === ONCE && seen.refuses) {
      const error = { expected: "1 bytes of page-locked host memory", got: "none left" } as const;
      throw new VdError({ code: "memory", where: "row", ...error });
    }
    seen.streamed.push(streamBytes);
    const program = await cpu.compile(words, names, bindings, rest);
    const { info } = program;
    return Object.defineProperty(program, "info", { value: { ...info, streamedBytes: streamBytes && 1000 } });
  };
  const gpu = {
    ...{ kind: "cuda", threads: 1, name: "A small GPU", prepare: async () => {}, compile },
    allocate: (bytes: number) => cpu.allocate(bytes),
    memory: async () => {
      const { residentBytes } = seen;
      return { freeBytes: GIB / 4 - residentBytes, totalBytes: GIB / 4, residentBytes };
    },
    trim: async () => {
      seen.trims++;
      seen.residentBytes = 0;
    },
  } as unknown as Device;
  return { gpu, seen };
}

describe("with the least memory a GPU", () => {
  let wanted: Uint8Array;
  let pipeline: StableVideoDiffusionPipeline;
  let seen: ReturnType<typeof smallGpu>["seen"];
  beforeAll(async () => {
    wanted = (await (await openTiny()).generate(QUICK)).data;
  });
  beforeEach(async () => {
    const small = smallGpu();
    seen = small.seen;
    vi.spyOn(Device, "cuda").mockReturnValue(small.gpu);
    pipeline = await openTiny({ device: "cuda", dtype: "float32", tuning: false });
  });
  afterEach(() => {
    pipeline.dispose();
    vi.restoreAllMocks();
  });

  /** Generates; returns what was done meanwhile. */
  async function generate(options: Parameters<StableVideoDiffusionPipeline["generate"]>[0]) {
    const [trims, numStreamed] = [seen.trims, seen.streamed.length];
    const messages: string[] = [];
    const onProgress = ({ message }: { message?: string }) => void (message && messages.push(message));
    const { data } = await pipeline.generate({ ...options, onProgress });
    return { data, trims: seen.trims - trims, streamed: seen.streamed.slice(numStreamed), messages };
  }

  it("never lets go of its page-locked weights between stages and generations, and gives the same frames", async () => {
    for (const options of [LOWEST, LOWEST, { ...LOWEST, width: 64 }, LOWEST]) {
      const { data, trims, streamed, messages } = await generate(options);
      if (options === LOWEST) expect(sameBytes(data, wanted)).toBe(true);
      expect([trims, messages]).toEqual([0, []]);
      expect(streamed.every((bytes) => bytes > 0)).toBe(true);
    }
    expect(await pipeline.plan(LOWEST)).toMatchObject({ keepsPinned: true, pinnedBytes: expect.any(Number) });
  });

  it("lets go of them for weights of others, once, and with other weights and uses of memory", async () => {
    await generate(LOWEST);
    seen.residentBytes = GIB / 8;
    expect((await generate(LOWEST)).trims).toBe(1);
    expect((await generate({ ...QUICK, memory: "full" })).trims).toBe(1);
    expect((await generate({ ...QUICK, memory: "full" })).trims).toBe(0);
    const before = seen.trims;
    await pipeline.unloadLoras();
    expect(seen.trims - before).toBe(1);
    pipeline.dispose();
    expect(seen.trims - before).toBe(2);
  });

  it("lets go of them behind a generation that was under way when the pipeline was disposed of", async () => {
    const before = seen.trims;
    const dispose = ({ stage }: { stage: string }) => {
      if (stage === "denoise") pipeline.dispose();
    };
    await pipeline.generate({ ...LOWEST, onProgress: dispose });
    // At once, and when the last program was freed.
    expect(seen.trims - before).toBeGreaterThanOrEqual(2);
  });

  it("does as before and says so where the machine refuses page-locked memory", async () => {
    seen.refuses = true;
    const { data, messages, streamed, trims } = await generate(LOWEST);
    expect(sameBytes(data, wanted)).toBe(true);
    const [first] = messages;
    expect(first).toMatch(
      /^The machine refuses to keep .* GiB of weights page-locked: each generation packs them anew\.$/,
    );
    expect(messages).toHaveLength(1);
    // The denoiser streams its weights in any case; every stage lets go of those of the one before.
    expect(streamed.filter((bytes) => bytes > 0)).toEqual([256 * 2 ** 20]);
    expect(trims).toBeGreaterThan(3);
  });
});

describe("PinnedWeights", () => {
  it("counts programs by what decides the forms of their weights, and fits within half of what the machine has left", async () => {
    const pinned = new PinnedWeights();
    const info = (streamedBytes: number, ...variants: string[]) => ({ streamedBytes, variants });
    pinned.note("denoise", info(6 * GIB, "a"));
    pinned.note("denoise", info(6 * GIB, "a"));
    expect(pinned.bytes).toBe(6 * GIB);
    pinned.note("denoise", info(2 * GIB, "b"));
    pinned.note("start", info(0, "b"));
    expect(pinned.bytes).toBe(8 * GIB);
    expect(pinned.fits(6 * GIB, 8 * GIB)).toBe(true);
    expect(pinned.fits(6 * GIB, 7 * GIB)).toBe(false);
    expect(pinned.fits(9 * GIB, 8 * GIB)).toBe(false);
    await pinned.release(smallGpu().gpu);
    expect(pinned.bytes).toBe(0);
    expect([pinned.fits(4 * GIB, 8 * GIB), pinned.fits(4 * GIB + 1, 8 * GIB)]).toEqual([true, false]);
  });
});
