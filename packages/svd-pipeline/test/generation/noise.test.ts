import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { noiseImage } from "../../../../tooling/testing/pictures";
import { signedPlanes } from "../../src/conditioning/vae-input";
import type { GenerationContext } from "../../src/generation/context";
import { Generation } from "../../src/generation/generation";
import { GenerationNoise } from "../../src/generation/noise";
import { Progress } from "../../src/generation/progress";
import type { GenerateOptions } from "../../src/types";
import { openTiny, QUICK } from "../support/tiny-model";

async function contextOf(options: GenerateOptions): Promise<GenerationContext> {
  const pipeline = await openTiny();
  const inner = pipeline as unknown as { context(options: GenerateOptions): Promise<GenerationContext> };
  return inner.context(options);
}

/** The noise of a generation, of which that for the picture may be drawn ahead. */
async function noiseOf(ahead: boolean, options: GenerateOptions = QUICK) {
  const context = await contextOf(options);
  const noise = new GenerationNoise(context, new Progress({}));
  const count = 3 * context.shape.width * context.shape.height;
  if (ahead) noise.drawPictureAhead(count);
  return { noise, count };
}

/** A picture of so many numbers. */
const pictureOf = (count: number) => noiseImage(count / 3, 1);

describe("noise for a picture that is not there yet", () => {
  it("is the one that would be drawn for it, and others follow in the same order", async () => {
    const drawn = async (ahead: boolean) => {
      const { noise, count } = await noiseOf(ahead);
      expect(noise.isPictureDrawn).toBe(ahead);
      const picture = pictureOf(count);
      const noisy = await (ahead ? noise.underPicture(picture) : noise.onPicture(await signedPlanes(picture)));
      const copy = noisy.slice();
      return { noisy: copy, latents: (await noise.firstLatents()).slice(), step: await noise.forStep() };
    };
    expect(await drawn(true)).toEqual(await drawn(false));
  });

  it("is not drawn ahead of a picture in floats, whose bits are those of work one after the other", async () => {
    const image = { width: 2, height: 2, data: new Float32Array(12).fill(0.25) };
    const { noise } = await noiseOf(true, { ...QUICK, image });
    expect(noise.isPictureDrawn).toBe(false);
    const context = await contextOf({ ...QUICK, image });
    const video = async (overlap: boolean) => (await new Generation({ ...context, overlap }).run()).data.slice();
    expect(await video(true)).toEqual(await video(false));
  });

  it("is drawn once where the picture was encoded before", async () => {
    const drawn = async (ahead: boolean) => {
      const { noise, count } = await noiseOf(ahead);
      await noise.skipPicture(count);
      const position = noise.position();
      return { position, latents: (await noise.firstLatents()).slice() };
    };
    expect(await drawn(true)).toEqual(await drawn(false));
  });

  it("is no error of its own where the generation was cancelled", async () => {
    const { noise, count } = await noiseOf(true, { ...QUICK, signal: AbortSignal.abort() });
    // Time for a rejection that nobody handles to end the process.
    await sleep(20);
    await noise.settled();
    expect((await failureOf(noise.underPicture(pictureOf(count)))).code).toBe("cancelled");
  });
});

describe("noise of a step that is not taken yet", () => {
  const ancestral = { ...QUICK, sampler: "euler_a" } as const;

  async function stepsOf(ahead: boolean) {
    const context = { ...(await contextOf(ancestral)), overlap: ahead };
    const noise = new GenerationNoise(context, new Progress({}));
    noise.drawFirstAhead();
    await noise.firstLatents();
    const steps = [];
    for (let step = 0; step < 3; step++) {
      if (step > 0) noise.drawStepAhead();
      steps.push({ drawn: (await noise.pixelsForStep()).slice(), position: noise.position() });
    }
    return { noise, context, steps };
  }

  it("is the one that would be drawn in its turn, and leaves the numbers behind it where they were", async () => {
    expect((await stepsOf(true)).steps).toEqual((await stepsOf(false)).steps);
  });

  it("is no part of how far the drawing has come until the step takes it", async () => {
    const { noise } = await stepsOf(true);
    const before = noise.position();
    noise.drawStepAhead();
    expect(noise.position()).toEqual(before);
    const wanted = (await noise.pixelsForStep()).slice();
    expect(noise.position().engine).not.toEqual(before.engine);
    // Where the device ran out of memory meanwhile, steps are taken once more.
    noise.drawStepAhead();
    await noise.goOnFrom(before);
    expect(noise.position()).toEqual(before);
    expect(await noise.pixelsForStep()).toEqual(wanted);
  });

  it("is waited for where the generation ends", async () => {
    const { noise, context } = await stepsOf(true);
    const { numFrames, width, height } = context.shape;
    const pixels = context.scratch.floats("step noise as pixels", (numFrames * 4 * width * height) / 64);
    const before = pixels.slice();
    noise.drawStepAhead();
    await noise.settled();
    // Nobody asked for it, and it is there.
    expect(pixels).not.toEqual(before);
    const position = noise.position();
    await sleep(20);
    expect(noise.position()).toEqual(position);
  });
});

describe("a generation that overlaps its work", () => {
  /** Larger than what is drawn at once. */
  const large = { ...QUICK, width: 1024, height: 1024 };

  it("draws the picture's noise while it waits for the picture", async () => {
    const context = { ...(await contextOf({ ...large, image: "nowhere/to-be-found.png" })), overlap: true };
    const before = context.scratch.floats("noisy picture", 3 * 1024 * 1024);
    const generation = new Generation(context);
    expect((await failureOf(generation.run())).code).toBe("io");
    // All of it was drawn, and nobody draws any more.
    expect(generation.noise.position().engine).not.toEqual(
      new GenerationNoise(context, new Progress({})).position().engine,
    );
    expect(before.at(-1)).not.toBe(0);
  });
});
