import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { StableVideoDiffusionPipeline } from "../../src/index";
import type { LoadOptions } from "../../src/types";
import { sameBytes } from "../support/measures";
import { QUICK, TINY_SVD } from "../support/tiny-model";

const open = (source: unknown, options: Record<string, unknown> = {}) =>
  StableVideoDiffusionPipeline.fromPretrained(source as string, options as LoadOptions);

describe("opening a model", () => {
  it("refuses wrong arguments with what was expected and what came", async () => {
    const wrong: [unknown, Record<string, unknown>?][] = [
      [undefined],
      [""],
      [{ path: TINY_SVD }],
      [TINY_SVD, { dtype: "fp16" }],
      [TINY_SVD, { dtype: "toString" }],
      [TINY_SVD, { device: "gpu" }],
      [TINY_SVD, { threads: 0 }],
      [TINY_SVD, { threads: 1.5 }],
      [TINY_SVD, { threads: Number.NaN }],
      [TINY_SVD, { threads: 5000 }],
      [TINY_SVD, { threads: "2" }],
      [TINY_SVD, { tuning: true }],
      [TINY_SVD, { tuning: "" }],
      [TINY_SVD, { hub: "main" }],
      [TINY_SVD, { signal: new AbortController() }],
      [TINY_SVD, { onProgress: "loud" }],
      [TINY_SVD, { dtyp: "float16" }],
      [TINY_SVD, null as unknown as Record<string, unknown>],
      ["no-such-folder"],
    ];
    const messages = await Promise.all(
      wrong.map(async ([source, options]) => {
        const error = await failureOf(open(source, options));
        expect(["attr", "unsupported"]).toContain(error.code);
        return error.message.replaceAll(process.cwd(), "HERE");
      }),
    );
    expect(messages.join("\n")).toMatchInlineSnapshot(`
      "[model] expected the path of a folder or file, or a Hub model as org/name, got undefined
      [model] expected the path of a folder or file, or a Hub model as org/name, got an empty text
      [model] expected the path of a folder or file, or a Hub model as org/name, got [object Object]
      [dtype] expected one of float32, float16, bfloat16, got "fp16"
      [dtype] expected one of float32, float16, bfloat16, got "toString"
      [device] expected one of cpu, cuda, auto, got "gpu"
      [threads] expected a whole number from 1 to 1024, got 0
      [threads] expected a whole number from 1 to 1024, got 1.5
      [threads] expected a whole number from 1 to 1024, got NaN
      [threads] expected a whole number from 1 to 1024, got 5000
      [threads] expected a whole number from 1 to 1024, got "2"
      [tuning] expected the path of a tuning table, or false for none, got true
      [tuning] expected the path of a tuning table, or false for none, got ""
      [hub] expected an object, got "main"
      [signal] expected an AbortSignal, got an object. Pass the signal of an AbortController.
      [onProgress] expected a function, got "loud"
      [load] expected options out of device, devices, dtype, precision, calibration, convolutions, threads, cpuMath, tuning, denoiser, loras, unet, distilled, singleFile, hub, signal, onProgress, got "dtyp". The nearest name is dtype.
      [load] expected an object of options, got null
      [model] expected the path of a folder or file that exists, or a Hub model as org/name or org/name@revision, got "no-such-folder", which is neither. If you mean a local model, check the path: HERE/no-such-folder does not exist."
    `);
    const single = await failureOf(StableVideoDiffusionPipeline.fromSingleFile("", {}));
    expect(single.code).toBe("attr");
  });

  it("takes any number of threads, and gives the same bytes with each", async () => {
    const options = { ...QUICK, width: 64, height: 48, sampler: "euler_a" } as const;
    const generate = async (threads: number) => (await (await open(TINY_SVD, { threads })).generate(options)).data;
    const wanted = await generate(2);
    for (const threads of [1, 3, 64])
      expect([threads, sameBytes(await generate(threads), wanted)]).toEqual([threads, true]);
  });

  async function withThreads<T>(value: string, body: () => Promise<T>): Promise<T> {
    const before = process.env.VD_THREADS;
    process.env.VD_THREADS = value;
    try {
      return await body();
    } finally {
      if (before === undefined) delete process.env.VD_THREADS;
      else process.env.VD_THREADS = before;
    }
  }

  it("takes the default for an empty VD_THREADS", async () => {
    const tiny = { ...QUICK, width: 8, height: 8, numFrames: 1, steps: 1 };
    const video = await withThreads("", async () => (await open(TINY_SVD)).generate(tiny));
    expect(video.numFrames).toBe(1);
  });

  it.each(["0", "-3", "many", "5000"])("refuses VD_THREADS=%s by its name", async (value) => {
    await expect(withThreads(value, () => open(TINY_SVD))).rejects.toThrow(
      `[VD_THREADS] expected a whole number from 1 to 1024, got "${value}"`,
    );
  });
});
