import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { createLiveSession, type LiveFrame, type LiveSession, type LiveSessionOptions } from "../../src/index";
import { STABLE_DIFFUSION, slope } from "../support/stable-diffusion";

const TINY_AUTOENCODER = join(STABLE_DIFFUSION, "tiny_vae");
const TWO: LiveSessionOptions = { devices: ["cpu", "cpu"], threads: 2 };

const open = (options: LiveSessionOptions = {}) =>
  createLiveSession({ model: STABLE_DIFFUSION, pace: "reader", prompt: "a photo of the cat", seed: 3, ...options });

/** Frames of pictures with these amounts of red, pushed one for each; pixels are copies. */
async function framesOf(session: LiveSession, reds: readonly (number | undefined)[]): Promise<LiveFrame[]> {
  const frames: LiveFrame[] = [];
  const reader = session[Symbol.asyncIterator]();
  for (const red of reds) {
    if (red !== undefined) session.push(slope(red));
    const { value } = await reader.next();
    frames.push({ ...value, data: value.data.slice() });
  }
  return frames;
}

const REDS = [200, 20, 90, 160, 240];

/** What one device makes of the pictures, where the first one is there for the frames on their way too. */
async function onOneDevice(options: LiveSessionOptions): Promise<LiveFrame[]> {
  const session = await open({ threads: 1, ...options });
  const frames = await framesOf(session, [REDS[0], REDS[0], ...REDS]);
  await session.close();
  return frames;
}

describe("a session whose parts are on two devices", () => {
  it.each<LiveSessionOptions>([
    { steps: 1, autoencoder: TINY_AUTOENCODER },
    { steps: 2, guidance: "self", guidanceScale: 1.4 },
    { steps: 2, guidance: "full", negativePrompt: "the house" },
  ])("makes the frames of one device, two frames later: %j", async (options) => {
    const expected = await onOneDevice(options);
    const session = await open({ ...TWO, ...options });
    const frames = await framesOf(session, REDS);
    expect(frames.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(frames.map(({ data }) => data)).toEqual(expected.slice(0, 5).map(({ data }) => data));
    // Those that were on their way.
    const rest = await framesOf(session, [undefined, undefined]);
    expect(rest.map(({ data }) => data)).toEqual(expected.slice(5).map(({ data }) => data));
    await session.close();
  });

  it("makes frames of those before, one after the other, and measures them", async () => {
    const options: LiveSessionOptions = { blend: 0.5, drift: { everyFrames: 1 }, adaptive: { maxSteps: 1 } };
    const expected = await onOneDevice(options);
    const session = await open({ ...TWO, ...options });
    const frames = await framesOf(session, REDS);
    expect(frames.map(({ data }) => data)).toEqual(expected.slice(0, 5).map(({ data }) => data));
    expect(frames.map(({ drift }) => drift)).toEqual(expected.slice(0, 5).map(({ drift }) => drift));
    await session.close();
  });

  it("goes on from a snapshot, also of one device, takes words, and begins anew", async () => {
    const options: LiveSessionOptions = { steps: 2, guidance: "self", guidanceScale: 1.4 };
    const one = await open({ threads: 1, ...options });
    await framesOf(one, REDS.slice(0, 3));
    const kept = structuredClone(await one.snapshot());
    const expected = await framesOf(one, [70, 70, 70]);
    await one.close();
    const session = await open({ ...TWO, ...options });
    const first = await framesOf(session, REDS.slice(0, 3));
    await session.restore(kept);
    const frames = await framesOf(session, [70, 70, 70]);
    expect(frames.map(({ index, data }) => ({ index, data }))).toEqual(
      expected.map(({ index, data }) => ({ index, data })),
    );
    const again = structuredClone(await session.snapshot());
    expect(again.context.length).toBe(kept.context.length);
    await session.restart();
    expect((await framesOf(session, REDS.slice(0, 3))).map(({ data }) => data)).toEqual(first.map(({ data }) => data));
    await session.set({ prompt: "the house", steps: 1 });
    const other = await framesOf(session, REDS.slice(0, 3));
    expect(other[2]!.data).not.toEqual(first[2]!.data);
    await session.close();
  });

  it("is refused for other numbers of devices, beside a device, and for games", async () => {
    expect((await failureOf(open({ devices: ["cpu"] }))).message).toContain("two devices");
    expect((await failureOf(open({ ...TWO, device: "cpu" }))).message).toContain("device");
    expect((await failureOf(createLiveSession(TWO))).message).toContain("devices");
  });
});
