import type { LiveModelInfo } from "../../src/model/types";
import type { FrameMaker, FrameRequest } from "../../src/session/frame-maker";
import { NO_GUARD } from "../../src/session/guard";
import { RunningSession } from "../../src/session/live-session";
import { PartTimes } from "../../src/session/part-times";
import type { SessionParts, SessionSettings } from "../../src/session/parts";
import type { LiveFrame } from "../../src/session/types";
import { FakeClock } from "./fake-clock";

/** What a fake engine was asked for, in order. */
export type Made = Pick<FrameRequest, "steps" | "action" | "deep"> & Partial<Pick<FrameRequest, "precision">>;

/** How a fake session is made. */
export interface FakeOptions extends Partial<Omit<SessionParts, "settings" | "info" | "engine" | "clock">> {
  settings?: Partial<SessionSettings>;
  /** Milliseconds that a frame takes. */
  cost?(request: FrameRequest, index: number): number;
  change?: { frame: number; features: number };
  /** Milliseconds between frames that the model keeps up with. */
  frameMs?: number;
}

const info: LiveModelInfo = {
  kind: "game",
  ...{ name: "fake", folder: "", width: 2, height: 1, fps: 100, contextFrames: 1, sigmaData: 0.5, defaultSteps: 1 },
  sigmas: new Map([
    [1, [3]],
    [2, [4, 1]],
    [4, [8, 4, 2, 1]],
  ]),
  actions: ["none", "left", "right"],
  keys: {},
  starts: [],
};

/** A session whose frames take as long as a test says, on a clock that the test moves. */
export function fakeSession({ settings, cost = () => 1, change, frameMs, ...parts }: FakeOptions = {}) {
  const clock = new FakeClock();
  const made: Made[] = [];
  const fake = {
    index: 0,
    parts: new PartTimes(),
    isFreed: false,
    frameMs,
    async prepare() {},
    async make(request: FrameRequest) {
      const { steps, action, deep, precision } = request;
      made.push({ steps, action, deep, ...(precision && { precision }) });
      const ms = cost(request, this.index);
      await new Promise<void>((resolve) => clock.at(clock.now() + ms, resolve));
      request.into.fill(this.index);
      return { index: this.index++, drift: undefined, change };
    },
    pushVideo() {},
    setGuard() {},
    async free() {
      this.isFreed = true;
    },
  };
  const session = new RunningSession(
    {
      ...{ info, engine: fake as unknown as FrameMaker, clock, startContext: async () => new Float32Array(6) },
      ...{ size: { width: 2, height: 1 }, fps: 100, pace: "clock", queueFrames: 2 },
      ...{
        cache: undefined,
        adaptive: undefined,
        similarity: undefined,
        driftEvery: 0,
        timeEvery: 0,
        signal: undefined,
      },
      settings: { steps: 1, deadlineMs: 10, policy: "skip", blend: 1, guard: NO_GUARD, ...settings },
      ...parts,
    },
    { mean: [0, 0, 0], deviation: [0, 0, 0], contrast: 0, detail: 0 },
  );
  const read: LiveFrame[] = [];
  /** Reads to the end, in the background. */
  const readAll = async () => {
    for await (const frame of session) read.push({ ...frame, data: frame.data.slice() });
  };
  return { session, clock, made, engine: fake, read, readAll };
}
