import { shown, VdError } from "@vd/kernels-native";
import { meantName } from "@vd/tensor";
import type {
  AdaptiveOptions,
  ClipOptions,
  DriftGuardOptions,
  FeatureCacheOptions,
  LiveParameters,
  LiveSessionOptions,
  SimilarityOptions,
  TemporalBlendOptions,
} from "./types";

/** Every name of a type, none left out. */
type NamesOf<T> = Readonly<Record<keyof Required<T>, true>>;

/** What `set` changes. */
const PARAMETERS: NamesOf<LiveParameters> = {
  steps: true,
  deadlineMs: true,
  policy: true,
  blend: true,
  guard: true,
  prompt: true,
  negativePrompt: true,
  strength: true,
  guidanceScale: true,
  delta: true,
  picture: true,
  motion: true,
  seed: true,
};

/** What a session is created with. */
const OPTIONS: NamesOf<LiveSessionOptions> = {
  ...PARAMETERS,
  model: true,
  clips: true,
  distilled: true,
  random: true,
  autoencoder: true,
  tokenizer: true,
  guidance: true,
  temporalBlend: true,
  similarity: true,
  size: true,
  fps: true,
  pace: true,
  queueFrames: true,
  start: true,
  device: true,
  devices: true,
  precision: true,
  ahead: true,
  threads: true,
  cache: true,
  adaptive: true,
  drift: true,
  timeEvery: true,
  signal: true,
};

/** Options that are objects, by their names; those in {@link SWITCHES} are also true or false. */
const OBJECTS = {
  size: { width: true, height: true } satisfies NamesOf<NonNullable<LiveSessionOptions["size"]>>,
  drift: { everyFrames: true } satisfies NamesOf<NonNullable<LiveSessionOptions["drift"]>>,
  guard: { renoise: true, anchor: true, recover: true } satisfies NamesOf<DriftGuardOptions>,
  cache: { maxChange: true, maxAge: true } satisfies NamesOf<FeatureCacheOptions>,
  adaptive: { headroom: true, maxSteps: true, quietChange: true, precisions: true } satisfies NamesOf<AdaptiveOptions>,
  similarity: { threshold: true, maxSkip: true } satisfies NamesOf<SimilarityOptions>,
  temporalBlend: { weight: true, threshold: true } satisfies NamesOf<TemporalBlendOptions>,
  clips: { frames: true, overlap: true, holdColours: true } satisfies NamesOf<ClipOptions>,
} as const;

const SWITCHES: readonly string[] = ["cache", "adaptive", "similarity", "guard"] satisfies (keyof typeof OBJECTS)[];

const fail = (where: string, expected: string, got: unknown, hint?: string): never => {
  throw new VdError({ code: "attr", where, expected, got: shown(got), hint });
};

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function requireNames(where: string, value: unknown, names: NamesOf<object>, what: string): void {
  if (!isObject(value)) return void fail(where, `an object of ${what}`, value);
  const known = Object.keys(names);
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other === undefined) return;
  const meant = meantName(other, known);
  fail(where, `${what} out of ${known.join(", ")}`, other, meant && `Did you mean ${meant}?`);
}

function requireObjects(given: Readonly<Record<string, unknown>>): void {
  for (const [name, names] of Object.entries(OBJECTS)) {
    const value = given[name];
    if (value === undefined || (typeof value === "boolean" && SWITCHES.includes(name))) continue;
    requireNames(`session] [${name}`, value, names, "values");
  }
}

/**
 * Refuses what is no options of a session: names that there are not, and values in place of objects.
 *
 * @throws VdError `attr`
 */
export function checkOptionNames(options: LiveSessionOptions): void {
  requireNames("session", options, OPTIONS, "options");
  requireObjects({ ...options });
}

/**
 * Does the same for what `set` is given.
 *
 * @throws VdError `attr`
 */
export function checkParameterNames(parameters: LiveParameters): void {
  requireNames("session] [set", parameters, PARAMETERS, "parameters");
  requireObjects({ ...parameters });
}
