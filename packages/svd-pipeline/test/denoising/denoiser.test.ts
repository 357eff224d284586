import { openDevice } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { chooseDenoiser, type DenoiserFactory } from "../../src/denoising/denoiser";
import { findDenoiser } from "../../src/denoising/denoiser-registry";
import { denoiserNames, registerDenoiser, StableVideoDiffusionPipeline } from "../../src/index";
import { QUICK, TINY_SVD } from "../support/tiny-model";

const factory = (more: Partial<DenoiserFactory> = {}): DenoiserFactory => ({
  name: "test",
  prepare: async () => undefined,
  open: async () => ({ predict: async ({ latents }) => latents, close: async () => undefined }),
  ...more,
});

const options = { ...QUICK, numFrames: 2 };

describe("a denoiser that runs elsewhere", () => {
  it("is found under the name that registered it, the last one of a name", async () => {
    registerDenoiser("first", () => factory({ name: "old" }));
    registerDenoiser("first", () => factory({ name: "new" }));
    expect(denoiserNames()).toContain("first");
    expect((await findDenoiser("first")).name).toBe("new");
    const error = await failureOf(() => findDenoiser("frist"));
    expect([error.code, error.hint]).toEqual(["attr", "The nearest name is first."]);
  });

  it("gets what a call needs, and is closed whatever happens", async () => {
    const seen: unknown[] = [];
    const denoiser = factory({
      open: async ({ shape, embedding, image, timeIds, guidance }) => {
        seen.push(shape.rows, embedding.length, image.length, timeIds, guidance?.length);
        return {
          predict: async ({ latents, inputScale, timestep }) => {
            seen.push(latents.length, inputScale > 0, Number.isFinite(timestep));
            throw new Error("broken");
          },
          close: async () => void seen.push("closed"),
        };
      },
    });
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY_SVD, { denoiser });
    await expect(pipeline.generate({ ...options, fps: 8, motionBucketId: 90, maxGuidance: 2 })).rejects.toThrow(
      "broken",
    );
    const timeIds = [7, 90, Math.fround(0.02)];
    expect(seen).toEqual([2, 128, 4 * 4 * 4, timeIds, 2, 2 * 4 * 4 * 4, true, true, "closed"]);
  });

  it("may leave the work to own kernels, on a device of their own, with the same bits", async () => {
    const messages: (string | undefined)[] = [];
    const denoiser = factory({ prepare: async () => ({ device: "cpu", reason: "Nothing is installed." }) });
    const onProgress = ({ message }: { message?: string }) =>
      void (message?.includes("test") && messages.push(message));
    const left = await StableVideoDiffusionPipeline.fromPretrained(TINY_SVD, { denoiser, onProgress });
    const own = await StableVideoDiffusionPipeline.fromPretrained(TINY_SVD);
    expect(messages).toEqual(["test: Nothing is installed. Own cpu kernels denoise instead."]);
    expect((await left.generate(options)).data).toEqual((await own.generate(options)).data);
  });

  it("must be able to run when the model is opened", async () => {
    const device = openDevice("cpu", {});
    const failing = factory({ prepare: () => Promise.reject(new Error("not here")) });
    await expect(chooseDenoiser(failing, device)).rejects.toThrow("not here");
    expect(await chooseDenoiser(undefined, device)).toBeUndefined();
    expect((await failureOf(() => chooseDenoiser({ name: "half" } as never, device))).code).toBe("attr");
  });
});
