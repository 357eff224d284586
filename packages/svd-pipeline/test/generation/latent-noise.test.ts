import { sharedFloats } from "@vd/kernels-native";
import { mul } from "@vd/sampling";
import { CpuGenerator } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { NoiseSource } from "../../src/generation/latent-noise";
import type { Precision } from "../../src/types";

const seed = 11;
const source = (precision: Precision, signal?: AbortSignal) =>
  new NoiseSource(new CpuGenerator(seed), precision, signal);

describe("a generation's noise", () => {
  it.each(["float32", "float16", "bfloat16"] as const)(
    "is drawn for the picture, then for the latents, in %s by torch's arithmetic",
    async (precision) => {
      for (const [pictureCount, latentCount] of [
        [3 * 32 * 40, 4 * 4 * 5 * 3],
        [192, 4],
      ] as const) {
        const random = new CpuGenerator(seed);
        const pixels = Float32Array.from({ length: pictureCount }, (_, i) => (i % 255) / 127.5 - 1);
        const strength = Math.fround(0.02);
        const noisy = random.randn(pictureCount).map((value, i) => pixels[i]! + Math.fround(strength * value));
        const unit = mul({ data: random.randn(latentCount), dtype: precision }, 1);
        const scaled = mul(unit, 700.0007);
        const noise = source(precision);
        expect(await noise.noisy(pixels, 0.02)).toEqual(noisy);
        expect(await noise.scaled(latentCount, 700.0007)).toEqual(scaled.data);
        expect(await noise.unit(5)).toEqual(mul({ data: random.randn(5), dtype: precision }, 1).data);
      }
    },
  );

  it("is put where it shall go, and the picture stays as it was", async () => {
    const [pixels, into] = [sharedFloats(300), sharedFloats(300)];
    expect(await source("float16").noisy(pixels, 0.5, into)).toBe(into);
    expect(pixels).toEqual(new Float32Array(300));
    expect(into).not.toEqual(pixels);
  });

  it("is not drawn after an abort, and an abort while it is drawn rejects as soon as the thread is done", async () => {
    const early = source("float16", AbortSignal.abort());
    expect(await failureOf(early.unit(16))).toMatchObject({ code: "cancelled", where: "generation" });
    const controller = new AbortController();
    const into = sharedFloats(100_000);
    const drawing = failureOf(source("float32", controller.signal).scaled(into.length, 1, into));
    controller.abort(new Error("enough"));
    const error = await drawing;
    expect([error.code, (error.cause as Error).message]).toEqual(["cancelled", "enough"]);
    const left = into.slice();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(Buffer.compare(Buffer.from(into.slice().buffer), Buffer.from(left.buffer))).toBe(0);
  });
});
