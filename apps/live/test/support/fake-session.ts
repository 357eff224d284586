import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { VdError } from "@vd/kernels-native";
import type {
  LiveFrame,
  LiveModelInfo,
  LiveParameters,
  LivePicture,
  LiveSession,
  LiveSessionOptions,
  LiveSnapshot,
  LiveStats,
} from "@vd/live";

const FOLDER = fileURLToPath(new URL("../../../../models/tiny-live", import.meta.url));
const STARTS = ["meadow-morning", "desert-noon", "snow-sunset"];

/** What the fake knows and can do, in the shape of tiny-live. */
export const FAKE_MODEL: LiveModelInfo = {
  kind: "game",
  name: "fake-live",
  folder: FOLDER,
  width: 96,
  height: 64,
  fps: 50,
  contextFrames: 4,
  sigmaData: 0.5,
  defaultSteps: 1,
  sigmas: new Map([
    [1, [3]],
    [2, [4, 0.8]],
  ]),
  actions: ["none", "left", "right", "jump", "left+jump", "right+jump"],
  keys: { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "jump", Space: "jump" },
  starts: STARTS.map((name) => ({ name, details: {}, file: `start/${name}.png` })),
};

/** The same as a model of pictures. */
export const FAKE_PICTURES: LiveModelInfo = {
  ...FAKE_MODEL,
  ...{ kind: "pictures", name: "fake-pictures", actions: ["none"], keys: {}, starts: [] },
};

/** A session without a network: its frames show the action, the number of the frame, and a pushed picture's first pixel; those of a model
 *  of pictures how long the prompt is in place of the action. */
export class FakeSession implements LiveSession {
  readonly width = FAKE_MODEL.width;
  readonly height = FAKE_MODEL.height;
  readonly fps: number;
  paused = false;
  closed = false;
  readonly acted: string[] = [];
  readonly pushed: LivePicture[] = [];
  readonly parameters: LiveParameters;
  private action = "none";
  private index = 0;
  private start: string;
  private isReading = false;
  private readonly ring: Uint8Array;

  constructor(
    readonly options: LiveSessionOptions,
    readonly model: LiveModelInfo = FAKE_MODEL,
  ) {
    this.fps = options.fps ?? FAKE_MODEL.fps;
    this.start = String(options.start ?? model.starts[0]?.name ?? "");
    this.requireStart(this.start);
    this.parameters = { steps: options.steps, prompt: options.prompt };
    this.ring = new Uint8Array(3 * this.width * this.height);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LiveFrame, void> {
    if (this.isReading) throw new Error("a session is read once");
    this.isReading = true;
    while (!this.closed) {
      await setTimeout(this.options.pace === "reader" ? 0 : 1000 / this.fps);
      if (this.closed) return;
      if (!this.paused) yield this.makeFrame();
    }
  }

  push(picture: LivePicture): void {
    this.requireOpen();
    if (picture.width !== this.width || picture.height !== this.height) {
      const [expected, got] = [this, picture].map(({ width, height }) => `${width}x${height}`);
      throw new VdError({ code: "shape", where: "session] [push", expected: expected!, got: got! });
    }
    this.pushed.push({ ...picture, data: picture.data.slice() });
  }

  act(action: string | number): void {
    this.requireOpen();
    this.action = typeof action === "number" ? this.model.actions[action]! : action;
    this.acted.push(this.action);
  }

  async set(parameters: LiveParameters): Promise<void> {
    const { steps, strength } = parameters;
    if (strength !== undefined && !(strength > 0 && strength <= 1))
      throw new VdError({ code: "attr", where: "strength", expected: "at most 1", got: String(strength) });
    if (steps !== undefined && !this.model.sigmas.has(steps))
      throw new VdError({ code: "attr", where: "session", expected: "steps of 1 or 2", got: String(steps) });
    Object.assign(this.parameters, parameters);
  }

  async pause(): Promise<void> {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  async snapshot(): Promise<LiveSnapshot> {
    const { index, action, width, height } = this;
    const { steps = 1 } = this.parameters;
    const context = new Float32Array(0);
    const generator = new Uint32Array(0);
    return { format: "vd-live/1", model: this.model.name, width, height, index, action, steps, context, generator };
  }

  async restore(snapshot: LiveSnapshot): Promise<void> {
    this.index = snapshot.index;
    this.action = snapshot.action;
    Object.assign(this.parameters, { steps: snapshot.steps });
  }

  async restart(start: string | readonly LivePicture[] = this.start): Promise<void> {
    this.requireStart(String(start));
    this.start = String(start);
    this.index = 0;
    this.action = "none";
  }

  stats(): LiveStats {
    const zeros = { mean: 1, p50: 1, p95: 1, p99: 1, max: 1 };
    const counts = { frames: this.index, repeated: 0, skipped: 0, misses: 0, stalls: 0, cached: 0 };
    return {
      ...counts,
      steps: {},
      precisions: {},
      latencyMs: zeros,
      jitterMs: 0,
      fps: this.fps,
      parts: {},
      drift: undefined,
    };
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  private requireOpen(): void {
    if (!this.closed) return;
    throw new VdError({ code: "unsupported", where: "session", expected: "an open session", got: "a closed one" });
  }

  private requireStart(name: string): void {
    if (this.model.starts.length === 0 || STARTS.includes(name)) return;
    throw new VdError({ code: "attr", where: "start", expected: STARTS.join(", "), got: `"${name}"` });
  }

  private makeFrame(): LiveFrame {
    const index = this.index++;
    const { width, height, action, ring } = this;
    const { kind, actions } = this.model;
    const green = kind === "pictures" ? (this.parameters.prompt ?? "").length : 40 * actions.indexOf(action);
    const base = [index % 256, green, this.pushed.at(-1)?.data[0] ?? 0];
    for (let i = 0; i < ring.length; i++) ring[i] = base[i % 3]!;
    const state = { repeated: false, late: false, cached: false, latencyMs: 1, drift: undefined };
    return { index, tick: index, width, height, data: ring, action, steps: this.parameters.steps ?? 1, ...state };
  }
}

/** Opens fake sessions and remembers them. */
export function fakeSessions(model: LiveModelInfo = FAKE_MODEL) {
  const opened: FakeSession[] = [];
  const openSession = async (options: LiveSessionOptions) => {
    const session = new FakeSession(options, model);
    opened.push(session);
    return session;
  };
  return { opened, openSession };
}
