/** What a page asks of the server, as JSON. */
export type PageRequest =
  /** The keys that are held now (`KeyboardEvent.code`), and the page's number of this change. */
  | { type: "keys"; held: string[]; input: number }
  /** How many frames the page has shown so far: what the server lets it have next depends on it. */
  | { type: "drawn"; count: number }
  | { type: "pause" }
  | { type: "resume" }
  | { type: "steps"; steps: number }
  /** Of games: whether a picture that went dull is brought back. */
  | { type: "recover"; on: boolean }
  /** Of models of pictures: what frames show from the next one on; what is left out stays. */
  | ({ type: "words" } & Partial<PictureWords>)
  /** A new game from a start state; with a seed, of the noise too. */
  | { type: "start"; name: string; seed?: number }
  /** Keeps the state of now, and goes back to it. */
  | { type: "keep" }
  | { type: "back" };

/** The words and numbers that a model of pictures makes frames by, as its session has them. */
export interface PictureWords {
  prompt: string;
  negativePrompt: string;
  strength: number;
  guidanceScale: number;
}

/** What a page is told of the model. */
export interface PageModel {
  name: string;
  width: number;
  height: number;
  /** Frames a second of the session. */
  fps: number;
  actions: readonly string[];
  /** Parts of actions by the names of keys. */
  keys: Readonly<Record<string, string>>;
  starts: readonly string[];
  /** Numbers of steps that can be chosen. */
  steps: readonly number[];
  /** Of models of pictures: which of {@link PictureWords} matter beside the prompt and the strength; undefined for games. */
  words: { negative: boolean; guidance: boolean } | undefined;
}

/** What changes while a game runs. */
export interface GameState {
  start: string;
  seed: number;
  steps: number;
  paused: boolean;
  /** True if a state was kept. */
  kept: boolean;
  /** Whether a picture that went dull is brought back; undefined for models that are no games. */
  recover: boolean | undefined;
  /** Undefined for games. */
  words: PictureWords | undefined;
}

/** What the server measures, once a second. */
export interface GameStats {
  fps: number;
  frames: number;
  skipped: number;
  misses: number;
  latencyMs: { p50: number; p95: number; p99: number };
  /** The newest measure of drift: how far the colours have moved from the start's, and 0 (lively) to 1 (a single colour). */
  drift: { colourDrift: number; collapse: number } | undefined;
}

/** What the server tells a page, as JSON; frames come as binary messages. */
export type ServerNotice =
  | { type: "hello"; model: PageModel; state: GameState; camera: boolean }
  | { type: "state"; state: GameState }
  | { type: "stats"; stats: GameStats }
  | { type: "error"; message: string };

/** The most keys that a page may hold; people have ten fingers. */
const MAX_HELD = 16;
const MAX_NAME = 64;
/** Far beyond what a text encoder reads. */
const MAX_PROMPT = 2000;

type Fields = Readonly<Record<string, unknown>>;

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
const isName = (value: unknown): value is string => typeof value === "string" && value.length <= MAX_NAME;

/** True for a text or a number that may be there, or none. */
const mayBeText = (value: unknown) => value === undefined || (typeof value === "string" && value.length <= MAX_PROMPT);
const mayBeNumber = (value: unknown) => value === undefined || (typeof value === "number" && Number.isFinite(value));

/** Checks of each request's fields, by its type. */
const CHECKS: { readonly [T in PageRequest["type"]]: (fields: Fields) => boolean } = {
  keys: ({ held, input }) => Array.isArray(held) && held.length <= MAX_HELD && held.every(isName) && isCount(input),
  drawn: ({ count }) => isCount(count),
  pause: () => true,
  resume: () => true,
  steps: ({ steps }) => isCount(steps),
  recover: ({ on }) => typeof on === "boolean",
  words: ({ prompt, negativePrompt, strength, guidanceScale }) =>
    [prompt, negativePrompt].every(mayBeText) && [strength, guidanceScale].every(mayBeNumber),
  start: ({ name, seed }) => isName(name) && (seed === undefined || isCount(seed)),
  keep: () => true,
  back: () => true,
};

/** Reads a request of a page; undefined for a text that is none, whatever it is. */
export function readRequest(text: string): PageRequest | undefined {
  try {
    const fields = JSON.parse(text) as Fields | null;
    if (typeof fields !== "object" || fields === null || typeof fields.type !== "string") return undefined;
    if (!Object.hasOwn(CHECKS, fields.type)) return undefined;
    return CHECKS[fields.type as PageRequest["type"]](fields) ? (fields as unknown as PageRequest) : undefined;
  } catch {
    return undefined;
  }
}
