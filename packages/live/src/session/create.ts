import { cancelledError, type Device, throwIfAborted, VdError } from "@vd/kernels-native";
import { deviceLabel, isDeviceList, openDevices } from "@vd/tensor";
import { type LiveModel, openLiveModel, startContext } from "../model/live-model";
import { type SessionClock, systemClock } from "./clock";
import { FrameEngine } from "./engine";
import { RunningSession } from "./live-session";
import { checkSessionOptions } from "./options";
import { preparePrograms, type SessionParts } from "./parts";
import { DEADLINE_POLICIES, type LiveSession, type LiveSessionOptions } from "./types";

const QUEUE_FRAMES = 2;

/** An option that is an object, or true for its defaults. */
const optional = <T extends object>(value: T | boolean | undefined): T | undefined =>
  value === true ? ({} as T) : value || undefined;

function partsOf(
  options: LiveSessionOptions,
  model: LiveModel,
  engine: FrameEngine,
  clock: SessionClock,
): SessionParts {
  const { info } = model;
  const fps = options.fps ?? info.fps;
  return {
    ...{ model, engine, clock, fps },
    size: options.size ?? { width: info.width, height: info.height },
    pace: options.pace ?? "clock",
    queueFrames: options.queueFrames ?? QUEUE_FRAMES,
    settings: {
      steps: options.steps ?? info.defaultSteps,
      deadlineMs: options.deadlineMs ?? 1000 / fps,
      policy: options.policy ?? DEADLINE_POLICIES[0],
      blend: options.blend ?? 1,
      guard: { renoise: options.guard?.renoise ?? 0, anchor: options.guard?.anchor ?? 0 },
    },
    cache: optional(options.cache),
    adaptive: optional(options.adaptive),
    hasGuard: options.guard !== undefined,
    driftEvery: options.drift?.everyFrames ?? 0,
    timeEvery: options.timeEvery ?? 0,
    signal: options.signal,
  };
}

/** The device that the options name. */
function deviceOf({ device = "cpu", threads }: LiveSessionOptions): Device {
  const name = device === "cuda" ? "cuda:0" : device;
  if (isDeviceList([name])) return openDevices([deviceLabel(name)], threads)[0]!.device;
  throw new VdError({ code: "attr", where: "session] [device", expected: "cpu, cuda or cuda:1", got: String(device) });
}

/** Does what {@link createLiveSession} does, with a clock of the caller's, and perhaps its device. */
export async function createSessionWithClock(
  options: LiveSessionOptions,
  clock: SessionClock,
  device?: Device,
): Promise<LiveSession> {
  throwIfAborted(options.signal, "live session");
  const model = await openLiveModel(options.model);
  checkSessionOptions(options, model.info);
  const { seed = 0, guard, cache, adaptive } = options;
  const size = options.size ?? { width: model.info.width, height: model.info.height };
  const context = await startContext(model, options.start, size);
  const engine = await FrameEngine.open({
    ...{ model, ...size, seed, guard: guard !== undefined },
    device: device ?? deviceOf(options),
    change: Boolean(cache) || Boolean(adaptive),
  });
  try {
    const parts = partsOf(options, model, engine, clock);
    await engine.setContext(context, parts.driftEvery > 0);
    await preparePrograms(parts, parts.settings);
    if (options.signal?.aborted) throw cancelledError("live session", options);
    return new RunningSession(parts, context);
  } catch (error) {
    await engine.free();
    throw error;
  }
}

/**
 * Opens a model and starts a session: its clock runs from the first frame that is asked for or, by `pace: "clock"`, at once.
 *
 * @throws VdError `attr` for options that do not fit, `io`, `weights`, `unsupported`, `memory`
 * @example
 * ```ts
 * import { createLiveSession } from "@vd/live";
 *
 * const session = await createLiveSession({ fps: 25, steps: 1, policy: "skip" });
 * session.act("right");
 * for await (const { index, data, latencyMs } of session) {
 *   console.log(index, data.length, latencyMs);
 *   if (index === 24) break; // closes the session
 * }
 * ```
 */
export function createLiveSession(options: LiveSessionOptions = {}): Promise<LiveSession> {
  return createSessionWithClock(options, systemClock);
}
