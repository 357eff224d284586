import { cancelledError, type Device, type DType, shown, throwIfAborted, VdError } from "@vd/kernels-native";
import {
  type DeviceName,
  deviceLabel,
  GPU_NAMES,
  type NamedDevice,
  openDevices,
  openNamedDevice,
  runInSlices,
} from "@vd/tensor";
import { ChainBatches, checkNoWords } from "../chain/chain-batches";
import { chainInfo, randomChain } from "../chain/random-chain";
import { isClipModel, openClipModel } from "../clips/clip-model";
import { openedClips } from "../clips/open-clips";
import { checkSize, conditionsOf } from "../diffusion/conditions";
import { DiffusionBatches } from "../diffusion/diffusion-batches";
import { openDiffusionModel } from "../diffusion/open-model";
import { DTYPES, PictureEngine } from "../diffusion/picture-engine";
import { randomDiffusionModel } from "../diffusion/random-models";
import { isDiffusionModel } from "../diffusion/sources";
import { SplitEngine } from "../diffusion/split-engine";
import { type DiffusionModel, GUIDANCE_KINDS, type StreamConditions } from "../diffusion/types";
import { type LiveModel, openLiveModel, startContext } from "../model/live-model";
import type { LiveModelInfo } from "../model/types";
import { unetChainStep } from "../models/unet-chain/index";
import { type SessionClock, systemClock } from "./clock";
import { FrameEngine } from "./engine";
import type { FrameMaker } from "./frame-maker";
import { DEFAULT_GUARD, guardWith } from "./guard";
import { RunningSession } from "./live-session";
import { lookOf } from "./look";
import { checkBeforeOpening, checkSessionOptions } from "./options";
import { preparePrograms, type SessionParts } from "./parts";
import { SimilarityFilter } from "./similarity-filter";
import {
  DEADLINE_POLICIES,
  type LivePicture,
  type LivePrecision,
  type LiveSession,
  type LiveSessionOptions,
  type SessionPrecision,
} from "./types";

const DEVICE_NAMES: readonly DeviceName[] = ["cpu", "cuda", "auto", ...GPU_NAMES];
const QUEUE_FRAMES = 2;
const STRENGTH = 0.5;
/** Guidance scales: of residual guidance, and of models that are told it. */
const SCALE = 1.2;
const TOLD_SCALE = 8;

type Size = { width: number; height: number };

/** An option that is an object, or true for its defaults. */
const optional = <T extends object>(value: T | boolean | undefined): T | undefined =>
  value === true ? ({} as T) : value || undefined;

/** A model of any kind, and what a session needs to make its frames. */
export interface OpenedModel {
  info: LiveModelInfo;
  /** device: opens the one that the options name. */
  openEngine(size: Size, device: () => Device): Promise<FrameMaker>;
  startContext(size: Size, start?: string | readonly LivePicture[]): Promise<Float32Array>;
  /** Lets go of what was opened, where no engine does. */
  dispose?(): void;
}

function openedGame(options: LiveSessionOptions, model: LiveModel): OpenedModel {
  const { seed = 0, cache, adaptive } = options;
  const change = Boolean(cache) || Boolean(adaptive);
  return {
    info: model.info,
    startContext: (size, start) => startContext(model, start, size),
    async openEngine(size, device) {
      // Each level of the network but the first halves the picture.
      checkSize(size, 2 ** (model.network.config.blockOutChannels.length - 1));
      return FrameEngine.open({ ...{ model, ...size, seed, change }, device: device() });
    },
  };
}

/** The context of a model of pictures, which has none. @throws VdError `attr` for a start state */
function withoutStart(start: unknown): Float32Array {
  if (start === undefined) return new Float32Array(0);
  const expected = "nothing: models of pictures begin with the picture that is pushed";
  throw new VdError({ code: "attr", where: "session] [start", expected, got: shown(start) });
}

function openedDiffusion(options: LiveSessionOptions, model: DiffusionModel): OpenedModel {
  const { seed = 0, adaptive, guidance = GUIDANCE_KINDS[0], temporalBlend: blending } = options;
  const temporalBlend = blending && {
    weight: blending.weight,
    threshold: blending.threshold ?? Number.POSITIVE_INFINITY,
  };
  const isTold = model.unet.config.guidanceChannels !== undefined;
  const conditions: StreamConditions = {
    ...{ prompt: "", negativePrompt: "", strength: STRENGTH, guidanceScale: isTold ? TOLD_SCALE : SCALE, delta: 1 },
    ...conditionsOf(options),
  };
  const { devices, threads, drift } = options;
  const common = { model, seed, guidance, conditions, change: Boolean(adaptive) };
  return {
    info: model.info,
    startContext: async (_, start) => withoutStart(start),
    async openEngine(size, device) {
      if (devices === undefined) {
        const own = device();
        const { precisions = [] } = optional(adaptive) ?? {};
        const dtype = dtypeOn(own, options.precision);
        checkPrecisionsOn(own, precisions);
        checkSize(size, model.codec.factor);
        const batches = new DiffusionBatches({ ...common, ...size, device: own, temporalBlend });
        return PictureEngine.open({ batches, ...size, change: common.change, ahead: options.ahead, dtype });
      }
      const [denoiser, autoencoder] = openDevices(devices.map(deviceLabel), { threads });
      const isMeasured = (drift?.everyFrames ?? 0) > 0;
      return SplitEngine.open({ ...common, ...size, devices: [denoiser!, autoencoder!], drift: isMeasured });
    },
  };
}

function openedChain(options: LiveSessionOptions): OpenedModel {
  const { seed = 0, temporalBlend: blending, adaptive, ahead, devices, guidance, precision } = options;
  checkNoWords({ ...options, prompt: options.prompt || undefined });
  const other = Object.entries({ devices, guidance }).find(([, value]) => value !== undefined);
  if (other) {
    const [expected, got] = ["a model of the Stable Diffusion class", "a chain of U-Nets"];
    throw new VdError({ code: "attr", where: `session] [${other[0]}`, expected, got });
  }
  const network = randomChain(Number(seed));
  const change = Boolean(adaptive);
  const temporalBlend = blending && {
    weight: blending.weight,
    threshold: blending.threshold ?? Number.POSITIVE_INFINITY,
  };
  return {
    info: chainInfo(),
    startContext: async (_, start) => withoutStart(start),
    async openEngine(size, device) {
      checkSize(size, unetChainStep(network.config));
      const own = device();
      const float8 = precision === "float8";
      const dtype = dtypeOn(own, float8 ? "float16" : precision);
      checkPrecisionsOn(own, optional(adaptive)?.precisions);
      const batches = new ChainBatches({ network, device: own, seed, change, temporalBlend, float8 });
      return PictureEngine.open({ batches, ...size, change, ahead, dtype });
    },
  };
}

/** The element type of activations that is asked for; undefined: the device's own. */
function dtypeOn(device: Device, precision: SessionPrecision | undefined): DType | undefined {
  if (precision === undefined) return undefined;
  if (device.kind === "cpu" && precision !== "float32") {
    const expected = "float32 on the CPU, whose activations have no other type";
    throw new VdError({ code: "attr", where: "session] [precision", expected, got: precision });
  }
  if (precision !== "float8") return DTYPES[precision];
  const expected = "a chain of U-Nets, whose layers can be in float8";
  throw new VdError({ code: "attr", where: "session] [precision", expected, got: precision });
}

async function openModel(options: LiveSessionOptions, on: NamedDevice | undefined): Promise<OpenedModel> {
  const { model, random, seed } = options;
  if (random === "unet-chain") return openedChain(options);
  if (random !== undefined) return openedDiffusion(options, randomDiffusionModel(random, Number(seed ?? 0)));
  if (model !== undefined && (typeof model !== "string" || (await isClipModel(model))))
    return openedClips(options, await openClipModel(model, options, on));
  if (model !== undefined && isDiffusionModel(model))
    return openedDiffusion(options, await openDiffusionModel(model, options));
  return openedGame(options, await openLiveModel(model));
}

/** Refuses element types that a device does not compute in. */
function checkPrecisionsOn({ kind }: Device, precisions: readonly LivePrecision[] = []): void {
  const other = precisions.find((precision) => precision !== "float32");
  if (kind !== "cpu" || other === undefined) return;
  const expected = "float32 alone on the CPU, whose activations have no other type";
  throw new VdError({ code: "attr", where: "session] [adaptive.precisions", expected, got: other });
}

function partsOf(
  options: LiveSessionOptions,
  opened: OpenedModel,
  engine: FrameMaker,
  clock: SessionClock,
): SessionParts {
  const { info } = opened;
  const fps = options.fps ?? info.fps;
  const size = options.size ?? { width: info.width, height: info.height };
  const similarity = optional(options.similarity);
  return {
    ...{ info, engine, clock, fps, size },
    startContext: (start) => opened.startContext(size, start),
    pace: options.pace ?? "clock",
    queueFrames: options.queueFrames ?? QUEUE_FRAMES,
    settings: {
      steps: options.steps ?? info.defaultSteps,
      deadlineMs: options.deadlineMs ?? 1000 / fps,
      policy: options.policy ?? DEADLINE_POLICIES[0],
      blend: options.blend ?? 1,
      guard: guardWith(DEFAULT_GUARD, options.guard),
    },
    cache: optional(options.cache),
    adaptive: optional(options.adaptive),
    similarity: similarity && new SimilarityFilter(similarity, options.seed ?? 0),
    driftEvery: options.drift?.everyFrames ?? 0,
    timeEvery: options.timeEvery ?? 0,
    signal: options.signal,
  };
}

/** The device that the options name. */
function deviceOf({ device = "cpu", threads }: LiveSessionOptions): Device {
  if (!DEVICE_NAMES.includes(device)) {
    const expected = "cpu, cuda, one of several GPUs as cuda:1, or auto";
    throw new VdError({ code: "attr", where: "session] [device", expected, got: String(device) });
  }
  return openNamedDevice(device, threads);
}

/** Does what {@link createLiveSession} does, with a clock of the caller's, and perhaps its device. */
export async function createSessionWithClock(
  options: LiveSessionOptions,
  clock: SessionClock,
  on?: NamedDevice,
): Promise<LiveSession> {
  checkBeforeOpening(options);
  throwIfAborted(options.signal, "live session");
  const opened = await openModel(options, on);
  try {
    return await startSession(options, opened, { clock, on });
  } catch (error) {
    opened.dispose?.();
    throw error;
  }
}

async function startSession(
  options: LiveSessionOptions,
  opened: OpenedModel,
  { clock, on }: { clock: SessionClock; on: NamedDevice | undefined },
): Promise<LiveSession> {
  const { info } = opened;
  checkSessionOptions(options, info);
  const size = options.size ?? { width: info.width, height: info.height };
  const context = await opened.startContext(size, options.start);
  const engine = await opened.openEngine(size, () => on?.device ?? deviceOf(options));
  try {
    const parts = partsOf(options, opened, engine, clock);
    await engine.setContext(context, parts.driftEvery > 0);
    await preparePrograms(parts, parts.settings);
    const look = await runInSlices(lookOf.inPieces(context, size));
    if (options.signal?.aborted) throw cancelledError("live session", options);
    return new RunningSession(parts, look);
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
