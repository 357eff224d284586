import { DeviceBuffer, openDevice } from "@vd/kernels-native";
import { Plan } from "@vd/tensor";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DirectionSessions } from "../../src/causal-video/direction-sessions";
import { turnBytes } from "../../src/causal-video/planning";
import { HostFrames } from "../../src/host-frames";
import { CausalVideoAutoencoder, type Clip, type StreamPlan } from "../../src/index";
import { type Counted, countedDevice } from "../support/counted-device";
import { randomWeights } from "../support/random-weights";
import { cut, inTurns, noiseClip, piecesOf, SMALL } from "./support";

/** Whether the device is taken for one that works beside the host, as GPUs do. */
const beside = vi.hoisted(() => ({ host: true }));
vi.mock("../../src/causal-video/beside-host", () => ({ worksBesideHost: () => beside.host }));

/** Hears that moments begin to be split. */
const split = vi.hoisted(() => ({ heard: undefined as (() => void) | undefined }));
vi.mock("../../src/posterior", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/posterior")>();
  const { inPieces } = original.splitMoments;
  const heard: typeof inPieces = (...args) => {
    split.heard?.();
    return inPieces(...args);
  };
  return { ...original, splitMoments: Object.assign(() => {}, { inPieces: heard }) };
});

const { readCheckedFloats } = DeviceBuffer.prototype;
const { run } = Plan.prototype;

/** Runs of plans, and readings of results. */
const seen = { runs: 0, underWay: 0, reads: 0, reading: 0 };

async function open() {
  const { device, counted } = countedDevice(openDevice("cpu", { threads: 2 }));
  const vae = await CausalVideoAutoencoder.fromWeights(randomWeights().weights, SMALL, { device });
  return { vae, counted, [Symbol.asyncDispose]: () => vae.close() };
}

beforeEach(() => {
  beside.host = true;
  Object.assign(seen, { runs: 0, underWay: 0, reads: 0, reading: 0 });
  vi.spyOn(Plan.prototype, "run").mockImplementation(async function (this: Plan, options) {
    seen.runs++;
    seen.underWay++;
    return run.call(this, options).finally(() => seen.underWay--);
  });
  vi.spyOn(DeviceBuffer.prototype, "readCheckedFloats").mockImplementation(async function (
    this: DeviceBuffer,
    ...args
  ) {
    seen.reads++;
    seen.reading++;
    return readCheckedFloats.apply(this, args).finally(() => seen.reading--);
  });
});
afterEach(() => void vi.restoreAllMocks());

/** How long a test waits for others on a busy machine. */
const PATIENCE = { timeout: 30_000 };
const CLIPS = { decode: noiseClip([5, 2, 3, 4]), encode: noiseClip([17, 16, 24, 3]) };
const WAYS: [name: string, plan: StreamPlan, runsBefore: number][] = [
  ["in pieces", cut(1, 4), 0],
  ["in turns", inTurns(1, 4, 8), 5],
];

describe.each(WAYS)("while a result is read the next piece runs, %s", (_, plan, runsBefore) => {
  it.each(["decode", "encode"] as const)("to the same bits: %s", async (direction) => {
    await using opened = await open();
    /** What a call gives, without the functions that encoding adds. */
    const result = async () => (await opened.vae[direction](CLIPS[direction], { plan })).values;
    const values = await result();
    beside.host = false;
    await using other = await open();
    expect(values).toEqual((await other.vae[direction](CLIPS[direction], { plan })).values);
  });

  it("before that result is there", async () => {
    await using opened = await open();
    vi.spyOn(DeviceBuffer.prototype, "readCheckedFloats").mockImplementation(async function (
      this: DeviceBuffer,
      ...args
    ) {
      const before = seen.reads++;
      await vi.waitFor(() => expect(seen.runs).toBe(Math.min(before + 2, 5) + runsBefore), PATIENCE);
      return readCheckedFloats.apply(this, args);
    });
    expect((await opened.vae.decode(CLIPS.decode, { plan })).dims[0]).toBe(17);
    expect(seen.reads).toBe(5);
  });

  it("with its input on the device already", async () => {
    await using opened = await open();
    const write = vi.spyOn(Plan.prototype, "writeChecked");
    await opened.vae.decode(CLIPS.decode, { plan });
    // The first piece has none before it.
    expect(write.mock.calls.filter(([name]) => name === "x")).toHaveLength(1);
  });

  it.each(["decode", "encode"] as const)("and is checked no earlier: %s", async (direction) => {
    await using opened = await open();
    const { dims } = CLIPS[direction];
    const values = CLIPS[direction].values.slice();
    const thirdPiece = direction === "decode" ? 2 : 5;
    values[thirdPiece * (values.length / dims[0])] = Number.NaN;
    const frames: number[] = [];
    const stream = async () => {
      const pieces = opened.vae[`${direction}Stream`]({ values, dims }, { plan });
      for await (const piece of pieces) frames.push(piece.dims[0]);
    };
    await expect(stream()).rejects.toMatchObject({ code: "attr", message: expect.stringContaining("got NaN") });
    expect(seen).toMatchObject({ runs: 2, underWay: 0, reading: 0 });
    // In turns nothing comes before the second part.
    const before = direction === "decode" ? [1, 4] : [1, 1];
    expect(frames).toEqual(plan.latentsPerTurn === undefined ? before : []);
    await expect(opened.vae[direction]({ values, dims }, { plan })).rejects.toMatchObject({ code: "attr" });
    expect((await opened.vae[direction](CLIPS[direction], { plan })).values.every(Number.isFinite)).toBe(true);
  });

  it("and what encoding gave before is split into means and deviations", async () => {
    await using opened = await open();
    const runs: number[] = [];
    split.heard = () => runs.push(seen.runs);
    await opened.vae.encode(CLIPS.encode, { plan });
    split.heard = undefined;
    expect(runs).toHaveLength(5);
    // Beside each one the next piece begins, or has begun.
    for (const [i, count] of runs.entries()) expect(count).toBeLessThanOrEqual(i + 2 + runsBefore);
  });

  it.each(["left", "cancelled", "closed"])("and nothing does once it was %s", async (how) => {
    for (const piece of [0, 1, 2, 3, 4]) {
      const { vae, counted } = await open();
      const controller = new AbortController();
      let numPieces = 0;
      const stream = async () => {
        for await (const _ of vae.decodeStream(CLIPS.decode, { plan, signal: controller.signal })) {
          if (numPieces++ < piece) continue;
          if (how === "left") break;
          if (how === "cancelled") controller.abort();
          else await vae.close();
        }
      };
      if (how === "left" || piece === 4) await stream();
      else await expect(stream()).rejects.toMatchObject({ code: how === "closed" ? "attr" : "cancelled" });
      expect(numPieces).toBe(piece + 1);
      expect(seen).toMatchObject({ underWay: 0, reading: 0 });
      await vae.close();
      expect([counted.now, counted.host]).toEqual([0, 0]);
    }
  });

  it("and stops with an error that names a frame that is not finite", async () => {
    const { vae, counted } = await open();
    vi.spyOn(DeviceBuffer.prototype, "readCheckedFloats").mockImplementation(async function (
      this: DeviceBuffer,
      ...args
    ) {
      const read = await readCheckedFloats.apply(this, args);
      if (seen.reads++ !== 2) return read;
      const firstNotFinite = 3 * 16 * 24 * 3 + 7;
      read.values[firstNotFinite] = Number.NaN;
      return { ...read, firstNotFinite };
    });
    const frames: number[] = [];
    const stream = async () => {
      for await (const { dims } of vae.decodeStream(CLIPS.decode, { plan })) frames.push(dims[0]);
    };
    await expect(stream()).rejects.toMatchObject({
      code: "weights",
      message: expect.stringContaining("NaN in frame 8 "),
    });
    expect(frames).toEqual([1, 4]);
    expect(seen).toMatchObject({ underWay: 0, reading: 0 });
    await vae.close();
    expect([counted.now, counted.host]).toEqual([0, 0]);
  });

  it("and its error does not hide that result", async () => {
    await using opened = await open();
    vi.spyOn(Plan.prototype, "run").mockImplementation(async function (this: Plan, options) {
      if (seen.runs++ === 2 + runsBefore) throw new Error("no third piece");
      return run.call(this, options);
    });
    const frames: number[] = [];
    const stream = async () => {
      for await (const { dims } of opened.vae.decodeStream(CLIPS.decode, { plan })) frames.push(dims[0]);
    };
    await expect(stream()).rejects.toThrow("no third piece");
    expect(frames).toEqual([1, 4]);
  });

  it("but a stream's piece is there before the next one is asked for", async () => {
    await using opened = await open();
    let asked = 0;
    async function* latents(): AsyncGenerator<Clip> {
      for (const piece of piecesOf(CLIPS.decode, [1, 2, 3, 4])) {
        asked++;
        yield piece;
      }
    }
    const counts: number[] = [];
    const each = plan.latentsPerTurn === undefined ? plan : inTurns(1, 4, 1);
    for await (const _ of opened.vae.decodeStream(latents(), { plan: each })) counts.push(asked);
    expect(counts).toEqual([1, 2, 3, 4, 5]);
  });
});

it("begins the second turn while the first one's last values are on their way to the host", async () => {
  await using opened = await open();
  const { decode } = CLIPS;
  const plan = inTurns(1, 4, 8);
  const { values } = await opened.vae.decode(decode, { plan: cut(1, 4) });
  const hosts = new Set<DeviceBuffer>();
  const { take } = HostFrames.prototype;
  vi.spyOn(HostFrames.prototype, "take").mockImplementation(async function (this: HostFrames, bytes) {
    const host = await take.call(this, bytes);
    hosts.add(host);
    return host;
  });
  seen.runs = 0;
  let sent = 0;
  const { copyFrom } = DeviceBuffer.prototype;
  vi.spyOn(DeviceBuffer.prototype, "copyFrom").mockImplementation(async function (this: DeviceBuffer, ...args) {
    if (hosts.has(this) && ++sent === 5) await vi.waitFor(() => expect(seen.runs).toBe(6), PATIENCE);
    return copyFrom.apply(this, args);
  });
  expect((await opened.vae.decode(decode, { plan })).values).toEqual(values);
  expect(sent).toBe(5);
});

describe("memory that is taken is what is planned where results are read beside the next piece", () => {
  const SIZE = { height: 4, width: 6 };

  it.each([
    ["decode", noiseClip([9, 4, 6, 4])],
    ["encode", noiseClip([33, 32, 48, 3])],
  ] as const)("in pieces: %s", async (direction, clip) => {
    const most = async () => {
      await using opened = await open();
      const { [direction]: plan } = await opened.vae.plan({ height: 8 * SIZE.height, width: 8 * SIZE.width });
      await opened.vae[direction](clip, { plan });
      return { planned: plan.bytes, taken: opened.counted.most };
    };
    const overlapping = await most();
    beside.host = false;
    const alone = await most();
    expect(overlapping.planned).toBeGreaterThan(alone.planned);
    expect(overlapping.taken - alone.taken).toBe(overlapping.planned - alone.planned);
  });

  it.each(["decode", "encode"] as const)("in turns: %s", async (direction) => {
    await using opened = await open();
    const shape = { latentsPerRun: 1, framesAtOnce: 1, ...SIZE };
    const { deviceBytes } = await turnBytes(opened.vae, direction, shape);
    const dims = direction === "decode" ? ([6, 4, 6, 4] as const) : ([9, 32, 48, 3] as const);
    await opened.vae[direction](noiseClip([...dims]), { plan: inTurns(1, 1, 8) });
    expect(opened.counted.most).toBeLessThanOrEqual(deviceBytes);
    expect(1.3 * opened.counted.most).toBeGreaterThanOrEqual(deviceBytes);
  });
});

describe("a second call in turns", () => {
  const SIZE = { height: 4, width: 6 };
  const SHAPE = { latentsPerRun: 1, framesAtOnce: 1, ...SIZE };
  const CLIP = { decode: noiseClip([6, 4, 6, 4]), encode: noiseClip([9, 32, 48, 3]) };

  /** Plans with memory for the plans of both parts, and without. */
  async function plansOf(vae: CausalVideoAutoencoder, direction: "decode" | "encode") {
    const { deviceBytes, shared } = await turnBytes(vae, direction, SHAPE);
    const plan = inTurns(1, 1, 8);
    return { loaded: { ...plan, bytes: shared.deviceBytes }, anew: { ...plan, bytes: deviceBytes } };
  }
  /** A machine that has no memory to spare but what the calls have taken has several turns for a clip. */
  const inSeveral = (counted: Counted) => vi.spyOn(process, "availableMemory").mockImplementation(() => -counted.host);

  it.each([
    ["decode", "one turn"],
    ["decode", "several turns"],
    ["encode", "one turn"],
    ["encode", "several turns"],
  ] as const)("takes nothing anew where plans stay loaded, for the same bits: %s in %s", async (direction, turns) => {
    await using opened = await open();
    const { vae, counted } = opened;
    const whole = (await vae[direction](CLIP[direction], { plan: cut(1, 1) })).values;
    const { loaded } = await plansOf(vae, direction);
    if (turns === "several turns") inSeveral(counted);
    const plan = { ...loaded, latentsPerTurn: 2 };
    expect((await vae[direction](CLIP[direction], { plan })).values).toEqual(whole);
    const { now, host, count, hostCount } = counted;
    expect(host).toBeGreaterThan(0);
    expect((await vae[direction](CLIP[direction], { plan })).values).toEqual(whole);
    expect(counted).toMatchObject({ now, host, count, hostCount });
  });

  it("takes no host memory anew where plans do not stay loaded, and no device memory waits", async () => {
    await using opened = await open();
    const { vae, counted } = opened;
    const { anew } = await plansOf(vae, "decode");
    const { values } = await vae.decode(CLIP.decode, { plan: anew });
    const { now, hostCount } = counted;
    expect(now).toBe(0);
    expect((await vae.decode(CLIP.decode, { plan: anew })).values).toEqual(values);
    expect(counted).toMatchObject({ now, hostCount });
  });

  it.each(["decode", "encode"] as const)("takes of the device what is planned: %s", async (direction) => {
    await using opened = await open();
    const { vae, counted } = opened;
    const { loaded } = await plansOf(vae, direction);
    await vae[direction](CLIP[direction], { plan: loaded });
    const { decoding, encoding } = vae as unknown as Record<"decoding" | "encoding", DirectionSessions>;
    const { idleBytes } = direction === "decode" ? decoding : encoding;
    // Each part has two plans, with each of which its weights are counted.
    const weights = (counted.now - idleBytes) / 2;
    const { shared } = await turnBytes(vae, direction, SHAPE);
    expect(counted.most - weights).toBe(shared.deviceBytes);
    expect(idleBytes).toBe(shared.deviceBytes - weights);
  });

  it("with pictures of another size lets go of what the first one left", async () => {
    await using opened = await open();
    const { vae, counted } = opened;
    const { loaded } = await plansOf(vae, "decode");
    await vae.decode(CLIP.decode, { plan: loaded });
    const { host } = counted;
    await vae.decode(noiseClip([6, 2, 2, 4]), { plan: loaded });
    expect(counted.host).toBeLessThan(host / 2);
    await vae.decode(CLIP.decode, { plan: cut(1, 1) });
    await vae.close();
    expect([counted.now, counted.host]).toEqual([0, 0]);
  });

  it("finds that the other direction's host memory made room, where the machine has no more", async () => {
    await using opened = await open();
    const { vae, counted } = opened;
    const { loaded } = await plansOf(vae, "encode");
    await vae.encode(CLIP.encode, { plan: loaded });
    const { host } = counted;
    expect(host).toBeGreaterThan(0);
    const decode = (await plansOf(vae, "decode")).loaded;
    await vae.decode(CLIP.decode, { plan: decode });
    const both = counted.host;
    inSeveral(counted);
    await vae.decode(CLIP.decode, { plan: { ...decode, hostBytes: both } });
    expect(counted.host).toBe(both - host);
  });

  it("beside another one shares nothing with it", async () => {
    await using opened = await open();
    const { vae, counted } = opened;
    const { loaded } = await plansOf(vae, "decode");
    const { values } = await vae.decode(CLIP.decode, { plan: loaded });
    const both = await Promise.all([1, 2].map(() => vae.decode(CLIP.decode, { plan: loaded })));
    for (const each of both) expect(each.values).toEqual(values);
    await vae.close();
    expect([counted.now, counted.host]).toEqual([0, 0]);
  });
});
