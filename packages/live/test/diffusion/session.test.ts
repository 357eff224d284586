import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLiveSession, type LiveFrame, type LiveSession, type LiveSessionOptions } from "../../src/index";
import { changedModel, STABLE_DIFFUSION, slope } from "../support/stable-diffusion";

const open = (options: LiveSessionOptions = {}) =>
  createLiveSession({ model: STABLE_DIFFUSION, pace: "reader", prompt: "a photo of the cat", threads: 1, ...options });

/** One frame of a pushed picture; its pixels are a copy. */
async function frameOf(session: LiveSession, red?: number): Promise<LiveFrame> {
  if (red !== undefined) session.push(slope(red));
  const { value } = await session[Symbol.asyncIterator]().next();
  return { ...value, data: value.data.slice() };
}

test("a frame follows from its picture, the words and the strength", async () => {
  const session = await open();
  expect(session.model).toMatchObject({ kind: "pictures", width: 32, height: 32, actions: ["none"] });
  const first = await frameOf(session, 200);
  expect(new Set(first.data).size).toBeGreaterThan(50);
  expect((await frameOf(session, 200)).data).toEqual(first.data);
  // A picture lasts until another one comes.
  expect((await frameOf(session)).data).toEqual(first.data);
  expect((await frameOf(session, 20)).data).not.toEqual(first.data);
  await session.set({ prompt: "the house" });
  const other = await frameOf(session, 200);
  expect(other.data).not.toEqual(first.data);
  await session.set({ prompt: "a photo of the cat", strength: 0.9 });
  expect((await frameOf(session, 200)).data).not.toEqual(first.data);
  await session.set({ strength: 0.5 });
  expect((await frameOf(session, 200)).data).toEqual(first.data);
  await session.close();
});

test("several steps are a batch: a picture's frame comes as many frames later", async () => {
  const session = await open({ steps: 3 });
  const first = await frameOf(session, 200);
  await frameOf(session, 20);
  // The steps that the first frames did not take were the first picture's.
  await frameOf(session, 20);
  const settled = await frameOf(session, 20);
  expect((await frameOf(session, 20)).data).toEqual(settled.data);
  expect(settled.data).not.toEqual(first.data);
  await session.close();
  const again = await open({ steps: 3 });
  expect((await frameOf(again, 20)).data).not.toEqual(first.data);
  for (let i = 0; i < 2; i++) await frameOf(again, 20);
  expect((await frameOf(again, 20)).data).toEqual(settled.data);
  await again.close();
});

test.each(["self", "initialize"] as const)("a snapshot holds what is on its way, guidance %s", async (guidance) => {
  const options: LiveSessionOptions = { steps: 2, guidance, guidanceScale: 1.4, negativePrompt: "the house", seed: 5 };
  const session = await open(options);
  for (const red of [10, 90]) await frameOf(session, red);
  const kept = await session.snapshot();
  const next = await frameOf(session, 170);
  await session.close();
  const other = await open(options);
  await frameOf(other, 250);
  await other.restore(structuredClone(kept));
  const again = await frameOf(other, 170);
  expect({ index: again.index, data: again.data }).toEqual({ index: next.index, data: next.data });
  await expect(other.restore({ ...kept, context: kept.context.slice(1) })).rejects.toThrow(/context/);
  await other.close();
});

test("similar pictures are not computed again", async () => {
  const session = await open({ similarity: { threshold: 0.5, maxSkip: 2 } });
  const first = await frameOf(session, 200);
  const repeated: boolean[] = [];
  for (let i = 0; i < 6; i++) repeated.push((await frameOf(session, 200)).repeated);
  expect(repeated).toEqual([true, true, false, true, true, false]);
  expect(session.stats()).toMatchObject({ frames: 3, repeated: 4 });
  expect((await frameOf(session, 200)).data).toEqual(first.data);
  await session.close();
});

test("words and numbers count from the next frame on, also where pictures are similar", async () => {
  const session = await open({ similarity: { threshold: 0.5, maxSkip: 10 } });
  const first = await frameOf(session, 200);
  expect((await frameOf(session, 200)).repeated).toBe(true);
  await session.set({ prompt: "something else", strength: 0.9 });
  const told = await frameOf(session, 200);
  expect(told.repeated).toBe(false);
  expect(told.data).not.toEqual(first.data);
  expect((await frameOf(session, 200)).repeated).toBe(true);
  await session.close();
});

test("a tiny autoencoder takes the place of the model's own", async () => {
  const session = await open({ autoencoder: join(STABLE_DIFFUSION, "tiny_vae") });
  const frame = await frameOf(session, 200);
  expect(frame.data.length).toBe(32 * 32 * 3);
  await session.close();
  await expect(open({ autoencoder: join(STABLE_DIFFUSION, "tokenizer") })).rejects.toThrow(/tiny autoencoder/);
});

test("frames without a picture come from those before; drift is measured", async () => {
  const session = await open({ drift: { everyFrames: 1 } });
  const [first, second] = [await frameOf(session), await frameOf(session)];
  expect(second.data).not.toEqual(first.data);
  expect(second.drift!.temporal).toBeGreaterThan(0);
  await session.restart();
  await expect(session.restart("meadow-morning")).rejects.toThrow(/\[start\] expected nothing/);
  expect((await frameOf(session)).data).toEqual(first.data);
  await session.close();
});

test("the element type is chosen and counted where there is a choice", async () => {
  const session = await open({ adaptive: { precisions: ["float32"] } });
  const plain = await open();
  expect((await frameOf(session, 200)).data).toEqual((await frameOf(plain, 200)).data);
  expect([session.stats().precisions, plain.stats().precisions]).toEqual([{ float32: 1 }, {}]);
  for (const each of [session, plain]) await each.close();
});

test("steps follow the content: one for a picture that stands still", async () => {
  const session = await open({ adaptive: { maxSteps: 2 }, steps: 2, deadlineMs: 1e6 });
  const steps: number[] = [];
  // The second frame is the first that took both steps, the third the first without a change.
  for (let i = 0; i < 4; i++) steps.push((await frameOf(session, 200)).steps);
  expect(steps).toEqual([2, 2, 2, 1]);
  await session.close();
});

test.each<[LiveSessionOptions, RegExp]>([
  [{ adaptive: { precisions: [] } }, /precisions.*some of float32/],
  [{ adaptive: { precisions: ["float8" as never] } }, /precisions.*some of float32/],
  [{ adaptive: { precisions: ["float32", "float16"] } }, /precisions.*float32 alone on the CPU/],
  [{ adaptive: { precisions: ["float32"] }, devices: ["cpu", "cpu"] }, /precisions.*one device/],
  [{ temporalBlend: { weight: 0.5 }, devices: ["cpu", "cpu"] }, /temporalBlend.*one device/],
  [{ guard: { anchor: 0.1 } }, /guard.*a model with live.json/],
  [{ cache: true }, /cache.*a model with live.json/],
  [{ start: "meadow" }, /start.*a model with live.json/],
  [{ strength: 0 }, /strength.*above 0/],
  [{ size: { width: 33, height: 32 } }, /multiples of 2/],
  [{ guidance: "half" as never }, /guidance.*one of none, self/],
  [{ similarity: { threshold: 2 } }, /similarity.threshold/],
  [{ prompt: 3 as never }, /prompt.*a text/],
  [{ tokenizer: STABLE_DIFFUSION }, /vocab.json/],
])("refuses %j", async (options, message) => {
  await expect(open(options)).rejects.toThrow(message);
});

test("a strength that leaves the distillation no timestep is what the error names; the session goes on", async () => {
  const session = await open();
  const first = await frameOf(session, 200);
  const expected = /strength.*about 0.02 or more, which leaves at least 1 of 50 timesteps, got 1e-9/;
  await expect(session.set({ strength: 1e-9 })).rejects.toThrow(expected);
  expect((await frameOf(session, 200)).data).toEqual(first.data);
  await session.close();
});

test("a game takes no words", async () => {
  await expect(createLiveSession({ prompt: "a castle" })).rejects.toThrow(/prompt.*a model of pictures and words/);
  const game = await createLiveSession({ pace: "reader" });
  await expect(game.set({ strength: 0.3 })).rejects.toThrow(/strength/);
  await game.close();
});

test.each([
  [{ "model_index.json": { vae: ["diffusers", "AutoencoderDC"] } }, /vae is AutoencoderKL or AutoencoderTiny/],
  [{ "unet/config.json": { addition_embed_type: "text_time" } }, /addition_embed_type/],
  [{ "unet/config.json": { attention_head_dim: 7 } }, /attention_head_dim.*divisor/],
  [{ "unet/config.json": { cross_attention_dim: [24, 24, 24] } }, /2 whole numbers/],
  [{ "unet/config.json": { in_channels: 9 } }, /conv_in.weight/],
  [{ "unet/config.json": { layers_per_block: 2 } }, /resnets/],
  [{ "vae/config.json": { latents_mean: [0, 0, 0, 0] } }, /latents_mean/],
  [{ "text_encoder/config.json": { hidden_act: "relu" } }, /hidden_act/],
  [{ "tokenizer/vocab.json": { "<|endoftext|>": "x" } }, /vocab.json.*whole numbers/],
  [{ "scheduler/scheduler_config.json": { prediction_type: "flow" } }, /prediction_type/],
])("refuses a model with %j", async (changes, message) => {
  await expect(open({ model: changedModel(changes) })).rejects.toThrow(message);
});

describe("temporal blend", () => {
  /** Mean distance of two frames' pixels. */
  const apart = (a: LiveFrame, b: LiveFrame) =>
    a.data.reduce((sum, value, i) => sum + Math.abs(value - b.data[i]!), 0) / a.data.length;
  const frames = async (options: LiveSessionOptions, reds: readonly number[]) => {
    const session = await open(options);
    const made: LiveFrame[] = [];
    for (const red of reds) made.push(await frameOf(session, red));
    await session.close();
    return made;
  };

  test.each([1, 2])("draws frames towards the one before, %i steps, and nothing without weight", async (steps) => {
    const settled = [200, 200, 200, 200, 200];
    const reds = [...settled, ...settled.map(() => 20), 20, 20, 20];
    const plain = await frames({ steps }, reds);
    const blended = await frames({ steps, temporalBlend: { weight: 0.5 } }, reds);
    // The first frame has none before it. Another picture's own frame comes as many frames later as there are further steps.
    expect(blended[0]!.data).toEqual(plain[0]!.data);
    const changed = settled.length - 1 + steps;
    const change = (made: readonly LiveFrame[]) => apart(made[changed]!, made[changed - 1]!);
    expect(change(blended)).toBeLessThan(0.8 * change(plain));
    // What stands still is reached in the end.
    expect(apart(blended.at(-1)!, plain.at(-1)!)).toBeLessThan(0.2 * apart(blended[changed]!, plain[changed]!));
    const without = await frames({ steps, temporalBlend: { weight: 0 } }, reds);
    expect(without.map(({ data }) => data)).toEqual(plain.map(({ data }) => data));
  });

  test("leaves alone what differs by more than the threshold", async () => {
    const reds = [200, 20, 20];
    const plain = await frames({}, reds);
    const strict = await frames({ temporalBlend: { weight: 1, threshold: 0 } }, reds);
    expect(strict.map(({ data }) => data)).toEqual(plain.map(({ data }) => data));
    const [first, , frozen] = await frames({ temporalBlend: { weight: 1 } }, reds);
    expect(frozen!.data).toEqual(first!.data);
  });

  test("goes on from a snapshot, and is refused out of range", async () => {
    const options: LiveSessionOptions = { temporalBlend: { weight: 0.5, threshold: 3 } };
    const session = await open(options);
    for (const red of [10, 90]) await frameOf(session, red);
    const kept = await session.snapshot();
    const next = await frameOf(session, 170);
    await session.close();
    const other = await open(options);
    await frameOf(other, 250);
    await other.restore(structuredClone(kept));
    expect((await frameOf(other, 170)).data).toEqual(next.data);
    await other.close();
    await expect(open({ temporalBlend: { weight: 2 } })).rejects.toThrow(/temporalBlend\.weight.*from 0 to 1/);
    await expect(open({ temporalBlend: {} as never })).rejects.toThrow(/temporalBlend\.weight/);
    await expect(createLiveSession({ temporalBlend: { weight: 0.5 } })).rejects.toThrow(
      /a model of pictures and words/,
    );
  });
});
