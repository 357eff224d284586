import { randomBytes } from "node:crypto";
import { VdError } from "@vd/kernels-native";
import { findSampler } from "@vd/sampling";
import { nearestNames, type WorkObserver } from "@vd/tensor";
import type { GenerateDefaults, GenerateOptions, MemoryUse } from "./types";

/** Options with every default filled in and every value checked. */
export interface CheckedOptions extends Omit<GenerateDefaults, "steps"> {
  /** Undefined where the sigmas decide. */
  steps: number | undefined;
  guidance: "linear" | "triangle";
  seed: bigint;
  sampler: string | undefined;
  sigmas: readonly number[] | undefined;
  decodeChunk: number | undefined;
  isolateDecodeChunks: boolean;
  memory: MemoryUse;
  previewEvery: number;
}

const MAX_SIDE = 16384;
const MAX_FRAMES = 4096;
const MAX_STEPS = 10000;
const MAX_SEED = 2n ** 64n - 1n;

/** What an option must be, where no range or list of names says more. */
type Kind = "boolean" | "function" | "string" | "signal" | "observer" | "checked";

const KINDS: Readonly<Record<keyof GenerateOptions, Kind>> = {
  image: "checked",
  width: "checked",
  height: "checked",
  numFrames: "checked",
  steps: "checked",
  fps: "checked",
  motionBucketId: "checked",
  noiseAugStrength: "checked",
  minGuidance: "checked",
  maxGuidance: "checked",
  guidance: "checked",
  seed: "checked",
  sampler: "string",
  sigmas: "checked",
  decodeChunk: "checked",
  isolateDecodeChunks: "boolean",
  memory: "checked",
  signal: "signal",
  onProgress: "function",
  onPreview: "function",
  previewEvery: "checked",
  profiler: "observer",
};

/** A value as a message shows it: texts in quotes, so that "8" is not taken for 8. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function wrong(where: string, expected: string, got: unknown, hint?: string): never {
  throw new VdError({ code: "attr", where, expected, got: shown(got), hint });
}

function integer(where: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max)
    wrong(where, `a whole number from ${min} to ${max}`, value);
  return value;
}

function real(where: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number" || !(value >= min && value <= max))
    wrong(where, `a number from ${min} to ${max}`, value);
  return value;
}

function side(where: string, value: unknown, factor: number): number {
  const size = integer(where, value, factor, MAX_SIDE);
  if (size % factor === 0) return size;
  const [below, above] = [Math.floor(size / factor) * factor, Math.ceil(size / factor) * factor];
  wrong(where, `a multiple of ${factor}`, size, `The nearest are ${below} and ${above}.`);
}

function seedOf(value: number | bigint | undefined): bigint {
  if (value === undefined) return BigInt(randomBytes(4).readUInt32LE());
  const isWhole = typeof value === "bigint" || Number.isInteger(value);
  if (!isWhole || value < 0 || BigInt(value) > MAX_SEED) wrong("seed", "a whole number from 0 to 2^64 − 1", value);
  if (typeof value === "number" && !Number.isSafeInteger(value))
    wrong("seed", "a bigint from 2^53 on, where numbers are not exact", value, "Write it with an n at its end.");
  return BigInt(value);
}

function guidanceShape(value: unknown): "linear" | "triangle" {
  if (value === "linear" || value === "triangle") return value;
  wrong("guidance", "linear or triangle", value);
}

function memoryUse(value: unknown): MemoryUse {
  if (value === "full" || value === "low") return value;
  wrong("memory", "full or low", value);
}

/** Noise levels as a list; the sampler checks the levels themselves. */
function sigmaList(value: unknown): readonly number[] | undefined {
  if (value === undefined) return undefined;
  const isTyped = value instanceof Float32Array || value instanceof Float64Array;
  const list: unknown = isTyped ? Array.from(value) : value;
  if (Array.isArray(list) && list.length > 0 && list.every((item) => typeof item === "number")) return list;
  wrong("sigmas", "a list of numbers, the noise levels", value);
}

function checkKind(name: keyof GenerateOptions, value: unknown): void {
  const kind = KINDS[name];
  if (kind === "checked") return;
  if (kind === "observer") {
    const { scope, planRan } = Object(value) as Partial<WorkObserver>;
    if (typeof scope === "function" && typeof planRan === "function") return;
    wrong(name, "a profiler", value, "Pass what createProfiler() of @vd/profiler gives.");
  }
  if (kind !== "signal") {
    if (typeof value !== kind) wrong(name, kind === "boolean" ? "true or false" : `a ${kind}`, value);
    return;
  }
  const signal = value as Partial<AbortSignal> | null;
  if (typeof signal?.addEventListener !== "function" || typeof signal.aborted !== "boolean")
    wrong("signal", "an AbortSignal", value, "Pass the signal of an AbortController.");
}

/** Every option has a name that is known and a value of its kind. */
function checkNames(options: GenerateOptions): void {
  if (typeof options !== "object" || options === null) wrong("generate", "an object of options", options);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(KINDS, name)) {
      const known = Object.keys(KINDS);
      wrong(
        "generate",
        `options out of ${known.join(", ")}`,
        name,
        `The nearest name is ${nearestNames(name, known, 1)}.`,
      );
    }
    if (value !== undefined) checkKind(name as keyof GenerateOptions, value);
  }
}

const OWN_DEFAULTS = { guidance: "linear", memory: "full", previewEvery: 5 } as const;

/** Fills in the model's defaults and checks everything that can be checked before work begins. factor: by how much the
 *  autoencoder shrinks a side. Throws VdError `attr` naming the option. */
export function checkOptions(options: GenerateOptions, defaults: GenerateDefaults, factor: number): CheckedOptions {
  checkNames(options);
  const value = { ...defaults, ...OWN_DEFAULTS, ...withoutUndefined(options) };
  if (value.sampler !== undefined) findSampler(value.sampler);
  const numFrames = integer("numFrames", value.numFrames, 1, MAX_FRAMES);
  const sigmas = sigmaList(value.sigmas);
  return {
    width: side("width", value.width, factor),
    height: side("height", value.height, factor),
    numFrames,
    steps: sigmas && options.steps === undefined ? undefined : integer("steps", value.steps, 1, MAX_STEPS),
    fps: integer("fps", value.fps, 1, 240),
    motionBucketId: real("motionBucketId", value.motionBucketId, 0, 1000),
    noiseAugStrength: real("noiseAugStrength", value.noiseAugStrength, 0, 100),
    minGuidance: real("minGuidance", value.minGuidance, 0, 1000),
    maxGuidance: real("maxGuidance", value.maxGuidance, 0, 1000),
    guidance: guidanceShape(value.guidance),
    seed: seedOf(value.seed),
    sampler: value.sampler,
    sigmas,
    decodeChunk:
      value.decodeChunk === undefined
        ? undefined
        : Math.min(integer("decodeChunk", value.decodeChunk, 1, MAX_FRAMES), numFrames),
    isolateDecodeChunks: value.isolateDecodeChunks ?? false,
    memory: memoryUse(value.memory),
    previewEvery: integer("previewEvery", value.previewEvery, 1, MAX_STEPS),
  };
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<T>;
}
