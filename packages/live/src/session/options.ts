import { shown, VdError } from "@vd/kernels-native";
import { isDeviceList } from "@vd/tensor";
import { RANDOM_MODELS } from "../diffusion/random-models";
import { GUIDANCE_KINDS } from "../diffusion/types";
import type { LiveModelInfo } from "../model/types";
import { checkOptionNames } from "./option-names";
import {
  type AdaptiveOptions,
  DEADLINE_POLICIES,
  type DriftGuardOptions,
  LIVE_PRECISIONS,
  type LiveParameters,
  type LiveSessionOptions,
  SESSION_PRECISIONS,
} from "./types";

const MAX_QUEUE = 64;
const MAX_FPS = 1000;
const MAX_SIDE = 8192;

/** A value as an error message shows it: NaN as it is, and texts in quotes, since "2" is no number. */
const inWords = (value: unknown) => (typeof value === "number" ? String(value) : shown(value));

const fail = (name: string, expected: string, got: unknown): never => {
  throw new VdError({ code: "attr", where: `session] [${name}`, expected, got: inWords(got) });
};

/** Says that a model, by its name, does not have an option. */
const failOf = (option: string, expected: string, model: string): never => {
  throw new VdError({ code: "attr", where: `session] [${option}`, expected, got: model });
};

function inRange(name: string, value: number | undefined, min: number, max: number, whole = false): void {
  if (value !== undefined) required(name, value, min, max, whole);
}

function required(name: string, value: number, min: number, max: number, whole = false): void {
  const fits = typeof value === "number" && value >= min && value <= max && (!whole || Number.isInteger(value));
  if (!fits) fail(name, `${whole ? "a whole number" : "a number"} from ${min} to ${max}`, value);
}

function aboveZero(name: string, value: number | undefined, expected: string, max = Number.POSITIVE_INFINITY): void {
  if (value !== undefined && !(typeof value === "number" && value > 0 && value <= max)) fail(name, expected, value);
}

function oneOf(name: string, value: unknown, choices: readonly unknown[]): void {
  if (value !== undefined && !choices.includes(value)) fail(name, `one of ${choices.join(", ")}`, value);
}

function checkGuard(guard: DriftGuardOptions | boolean | undefined): void {
  if (typeof guard !== "object") return;
  for (const name of ["renoise", "anchor", "recover"] as const) inRange(`guard.${name}`, guard[name], 0, 1);
}

/** Options of one kind of model alone. */
const OF_PICTURES = [
  "prompt",
  "negativePrompt",
  "strength",
  "guidanceScale",
  "delta",
  "guidance",
  "similarity",
  "temporalBlend",
] as const;
/** Each frame on its way has a worker thread of libuv, of which there are four for everything. */
const MOST_AHEAD = 2;

const OF_FILES = ["autoencoder", "tokenizer", "devices", "ahead", "precision"] as const;
const OF_GAMES = ["start", "guard", "cache"] as const;
const OF_CLIPS = ["picture", "motion", "clips", "distilled"] as const;
/** What models of clips do not have of what others share. */
const NOT_OF_CLIPS = ["adaptive", "blend"] as const;

/** What other kinds of models have and this one does not. */
const FOREIGN: Readonly<Record<LiveModelInfo["kind"], readonly (keyof LiveSessionOptions)[]>> = {
  game: [...OF_PICTURES, ...OF_FILES, ...OF_CLIPS],
  pictures: [...OF_GAMES, ...OF_CLIPS],
  clips: [...OF_PICTURES.filter((name) => name !== "guidanceScale"), ...OF_FILES, ...OF_GAMES, ...NOT_OF_CLIPS],
};

/** What a model is that has an option of another kind. */
function kindWith(option: keyof LiveSessionOptions): string {
  if ((OF_GAMES as readonly string[]).includes(option)) return "a model with live.json, which plays";
  if ((OF_CLIPS as readonly string[]).includes(option)) return "a model of clips";
  return (NOT_OF_CLIPS as readonly string[]).includes(option)
    ? "a model that makes frame by frame"
    : "a model of pictures and words";
}

/** Policies of each kind. */
const policiesOf = (kind: LiveModelInfo["kind"]) =>
  DEADLINE_POLICIES.filter((policy) => policy !== (kind === "clips" ? "fewer-steps" : "slow-down"));

/** Refuses what a model of this kind does not have. */
function checkKind(options: LiveSessionOptions, { kind, name }: LiveModelInfo): void {
  const found = FOREIGN[kind].find((option) => options[option] !== undefined && options[option] !== false);
  if (found !== undefined) failOf(found, kindWith(found), name);
}

function checkWords({ prompt, negativePrompt, strength, guidanceScale, delta }: LiveParameters): void {
  for (const [name, text] of Object.entries({ prompt, negativePrompt }))
    if (text !== undefined && typeof text !== "string") fail(name, "a text", text);
  aboveZero("strength", strength, "a number above 0, at most 1", 1);
  inRange("guidanceScale", guidanceScale, 0, 100);
  inRange("delta", delta, 0, 10);
}

/**
 * Checks what `set` and `createLiveSession` have in common.
 *
 * @throws VdError `attr`
 */
export function checkParameters(parameters: LiveParameters, model: LiveModelInfo): void {
  const { steps, deadlineMs, policy, blend, guard } = parameters;
  oneOf("steps", steps, [...model.sigmas.keys()]);
  oneOf("policy", policy, policiesOf(model.kind));
  inRange("blend", blend, 0, 1);
  aboveZero("deadlineMs", deadlineMs, "milliseconds above 0");
  checkGuard(guard);
  checkKind(parameters, model);
  inRange("motion", parameters.motion, 0, 1000);
  checkWords(parameters);
}

/**
 * Refuses what no model could be opened with.
 *
 * @throws VdError `attr`
 */
export function checkBeforeOpening(options: LiveSessionOptions): void {
  checkOptionNames(options);
  const { model, random, signal, threads } = options;
  const isPipeline = typeof model === "object" && typeof model?.endless === "function";
  if (model !== undefined && typeof model !== "string" && !isPipeline)
    fail("model", "a folder, a file or an open pipeline", model);
  oneOf("random", random, RANDOM_MODELS);
  if (signal !== undefined && !(signal instanceof AbortSignal)) fail("signal", "an AbortSignal", signal);
  // What a number of threads may be says whoever opens the device.
  if (threads !== undefined && typeof threads !== "number") fail("threads", "a number of threads", threads);
}

/** Refuses element types that are none, none at all, and those of models that compute in one alone. */
function checkPrecisions({ precisions }: AdaptiveOptions, options: LiveSessionOptions, model: LiveModelInfo): void {
  if (precisions === undefined) return;
  const isList = Array.isArray(precisions) && precisions.length > 0;
  const expected = `some of ${LIVE_PRECISIONS.join(", ")}, the most precise first`;
  if (!isList || !precisions.every((each) => LIVE_PRECISIONS.includes(each)))
    fail("adaptive.precisions", expected, precisions);
  if (model.kind !== "pictures") failOf("adaptive.precisions", "a model of pictures and words", model.name);
  if (options.devices !== undefined) fail("adaptive.precisions", "one device", options.devices);
}

/**
 * Checks the options of a session.
 *
 * @throws VdError `attr`
 */
export function checkSessionOptions(options: LiveSessionOptions, model: LiveModelInfo): void {
  checkParameters(options, model);
  oneOf("guidance", options.guidance, GUIDANCE_KINDS);
  const { devices } = options;
  if (devices !== undefined && (!isDeviceList(devices) || devices.length !== 2))
    fail("devices", "two devices of one kind, such as cuda:0 and cuda:1", devices);
  if (devices !== undefined && options.device !== undefined) fail("device", "nothing beside devices", options.device);
  oneOf("precision", options.precision, SESSION_PRECISIONS);
  if (devices !== undefined && options.precision !== undefined) fail("precision", "one device", devices);
  inRange("ahead", options.ahead, 0, MOST_AHEAD, true);
  if (devices !== undefined && options.ahead !== undefined) fail("ahead", "one device", devices);
  if (devices !== undefined && options.temporalBlend !== undefined) fail("temporalBlend", "one device", devices);
  if (typeof options.similarity === "object") {
    inRange("similarity.threshold", options.similarity.threshold, -1, 1);
    inRange("similarity.maxSkip", options.similarity.maxSkip, 0, 1_000_000, true);
  }
  if (options.temporalBlend !== undefined) {
    const { weight, threshold } = options.temporalBlend;
    required("temporalBlend.weight", weight, 0, 1);
    inRange("temporalBlend.threshold", threshold, 0, Number.POSITIVE_INFINITY);
  }
  const { fps, queueFrames, pace, drift, timeEvery, cache, adaptive, size } = options;
  aboveZero("fps", fps, `frames a second above 0, at most ${MAX_FPS}`, MAX_FPS);
  inRange("queueFrames", queueFrames, 1, MAX_QUEUE, true);
  oneOf("pace", pace, ["clock", "reader"]);
  if (drift !== undefined) required("drift.everyFrames", drift.everyFrames, 0, Number.MAX_SAFE_INTEGER, true);
  inRange("timeEvery", timeEvery, 0, Number.MAX_SAFE_INTEGER, true);
  if (size !== undefined) {
    required("size.width", size.width, 1, MAX_SIDE, true);
    required("size.height", size.height, 1, MAX_SIDE, true);
  }
  if (typeof cache === "object") {
    inRange("cache.maxChange", cache.maxChange, 0, 2);
    inRange("cache.maxAge", cache.maxAge, 1, 1000, true);
  }
  if (typeof adaptive === "object") {
    checkPrecisions(adaptive, options, model);
    inRange("adaptive.headroom", adaptive.headroom, 0, 1);
    inRange("adaptive.quietChange", adaptive.quietChange, 0, 2);
    inRange("adaptive.maxSteps", adaptive.maxSteps, 1, 1000, true);
  }
}
