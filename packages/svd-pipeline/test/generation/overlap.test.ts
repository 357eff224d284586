import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import type { GenerationContext } from "../../src/generation/context";
import { Generation } from "../../src/generation/generation";
import type { GenerateOptions } from "../../src/types";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

/** A generation that overlaps its work as on a GPU, on the CPU. */
async function overlapping(options: GenerateOptions): Promise<Generation> {
  const pipeline = await openTiny();
  const inner = pipeline as unknown as { context(options: GenerateOptions): Promise<GenerationContext> };
  return new Generation({ ...(await inner.context(options)), overlap: true });
}

describe("work side by side", () => {
  it("gives the bytes of work one after the other", async () => {
    const pipeline = await openTiny();
    for (const sampler of ["euler", "euler_a"] as const) {
      const options = { ...QUICK, sampler };
      const wanted = await pipeline.generate(options);
      const generation = await overlapping(options);
      const video = await generation.run();
      expect(sameBytes(video.data, wanted.data)).toBe(true);
      // What follows from the embedding did not wait for the autoencoder.
      expect(generation.conditionsAhead.size).toBe(1);
    }
  });

  const loadedAhead = (generation: Generation) => {
    const spy = vi.spyOn(generation.loader, "loadAhead");
    return () => spy.mock.calls.map(([{ name }]) => name).filter((name) => name === "decode");
  };

  it("loads the decoder beside the denoiser, where both fit, and gives the same bytes where that fails", async () => {
    const options = { ...QUICK, sampler: "euler" } as const;
    const wanted = await (await openTiny()).generate(options);
    for (const fails of [false, true]) {
      const generation = await overlapping(options);
      const decoders = loadedAhead(generation);
      const { layouts } = generation.context;
      const inSlices = layouts.inSlices.bind(layouts);
      let left = fails ? 1 : 0;
      layouts.inSlices = (stage, signal) =>
        stage.name === "decode" && decoders().length > 0 && left-- > 0
          ? Promise.reject(new Error("no layout"))
          : inSlices(stage, signal);
      expect(sameBytes((await generation.run()).data, wanted.data)).toBe(true);
      expect(decoders()).toEqual(["decode"]);
      expect(generation.loader.memory.ownBytes).toBe(0);
    }
  });

  it("loads the decoder in its turn where it would not fit beside the denoiser, or something is decoded before", async () => {
    const options = { ...QUICK, sampler: "euler" } as const;
    const wanted = await (await openTiny()).generate(options);
    const tight = async () => {
      const generation = await overlapping(options);
      const { layouts } = generation.context;
      const memoryOf = layouts.memoryOf.bind(layouts);
      layouts.memoryOf = async (stage, signal) => {
        const memory = await memoryOf(stage, signal);
        return stage.name === "decode" ? { ...memory, ioBytes: Number.MAX_SAFE_INTEGER } : memory;
      };
      return generation;
    };
    for (const generation of [await tight(), await overlapping({ ...options, onPreview: () => {} })]) {
      const decoders = loadedAhead(generation);
      expect(sameBytes((await generation.run()).data, wanted.data)).toBe(true);
      expect(decoders()).toEqual([]);
      expect(generation.loader.memory.ownBytes).toBe(0);
    }
  });

  it("frees the denoiser and the decoder where it is cancelled between them", async () => {
    const controller = new AbortController();
    const generation = await overlapping({ ...QUICK, sampler: "euler", signal: controller.signal });
    const { loader } = generation;
    const run = loader.run.bind(loader);
    loader.run = (stage, ...rest) => {
      if (stage.name === "decode") controller.abort();
      return run(stage, ...rest);
    };
    expect((await failureOf(generation.run())).code).toBe("cancelled");
    expect(loader.memory.ownBytes).toBe(0);
  });

  it("draws the picture's noise before the picture is read, and prepares it for both models at once", async () => {
    const events: string[] = [];
    const profiler = {
      scope<T>(name: string, body: () => T): T {
        events.push(`${name} begins`);
        const result = body();
        const end = () => events.push(`${name} ends`);
        if (result instanceof Promise) result.then(end, end);
        return result;
      },
      planLoaded: () => {},
      planRan: () => {},
      planFreed: () => {},
    };
    await (await overlapping({ ...QUICK, profiler })).run();
    const begun = events.filter((event) => /^(image decode|noise) begins/.test(event));
    expect(begun.slice(0, 2)).toEqual(["noise begins", "image decode begins"]);
    const prepared = events.filter((event) => event.startsWith("preprocess "));
    expect(prepared.slice(0, 2)).toEqual(["preprocess begins", "preprocess begins"]);
  });

  it("ends with what loading ahead throws, when nobody writes to its arrays any more", async () => {
    const generation = await overlapping({ ...QUICK, width: 512, height: 512 });
    const { context } = generation;
    const refuse = () => Promise.reject(new Error("no layout"));
    context.layouts = Object.assign(Object.create(context.layouts), { memoryOf: refuse, inSlices: refuse });
    await expect(generation.run()).rejects.toThrow("no layout");
    const noisy = context.scratch.floats("noisy picture", 3 * 512 * 512);
    const left = noisy.slice();
    // Time for a rejection that nobody handles to end the process, too.
    await sleep(20);
    expect(noisy).toEqual(left);
  });

  it("computes alone what failed beside other work", async () => {
    const options = { ...QUICK, sampler: "euler" } as const;
    const wanted = await (await openTiny()).generate(options);
    const generation = await overlapping(options);
    const { conditionsAhead } = generation;
    const set = conditionsAhead.set.bind(conditionsAhead);
    conditionsAhead.set = (embedding) => {
      const failed = Promise.reject(new Error("no memory"));
      failed.catch(() => undefined);
      return set(embedding, failed);
    };
    expect(sameBytes((await generation.run()).data, wanted.data)).toBe(true);
    expect(conditionsAhead.size).toBe(1);
  });

  it("counts the memory of all that is loaded at a time", async () => {
    const alone = await (await openTiny()).generate(QUICK);
    const video = await (await overlapping(QUICK)).run();
    expect(video.peakBytes).toBeGreaterThanOrEqual(alone.peakBytes);
  });

  it.each(["encode 1", "denoise 1", "decode 0"])("stops at %s with nothing left loaded", async (at) => {
    const controller = new AbortController();
    const onProgress = ({ stage, step }: { stage: string; step: number }) => {
      if (`${stage} ${step}` === at) controller.abort();
    };
    const generation = await overlapping({ ...QUICK, signal: controller.signal, onProgress });
    expect((await failureOf(generation.run())).code).toBe("cancelled");
    expect(generation.loader.memory.ownBytes).toBe(0);
  });
});
