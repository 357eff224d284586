import type { ErrorCode } from "../contract/error-codes";

/** What a {@link VdError} is made of: who complains, what was expected, what came, and how to go on. */
export interface VdErrorDetails {
  code: ErrorCode;
  /** The op, file, option or module that complains, e.g. `group_norm`, `--size`, `unet/config.json`. */
  where: string;
  expected: string;
  got: string;
  /** What the user can do about it, as a sentence. */
  hint?: string | undefined;
  cause?: unknown;
}

const NO_DETAILS = {
  code: "attr",
  where: "VdError",
  expected: "an object with code, where, expected and got",
} as const;

/**
 * The one error class of all packages. Message: `[where] expected X, got Y. Hint`
 *
 * @example
 * ```ts
 * import { isVdError, openDevice } from "@vd/kernels-native";
 *
 * try {
 *   openDevice("cuda");
 * } catch (error) {
 *   if (isVdError(error)) console.log(error.code, error.expected, error.hint);
 * }
 * ```
 */
export class VdError extends Error {
  /** `AbortError` for `cancelled`, as of everything in Node.js that an AbortSignal ends, else `VdError`. */
  override readonly name: "VdError" | "AbortError";
  readonly code: ErrorCode;
  readonly where: string;
  readonly expected: string;
  readonly got: string;
  readonly hint: string | undefined;

  constructor(details: VdErrorDetails) {
    if (typeof details !== "object" || details === null) throw new VdError({ ...NO_DETAILS, got: String(details) });
    const { code, cause } = details;
    const where = shortened(details.where);
    const expected = shortened(details.expected);
    const got = shortened(details.got);
    const hint = details.hint === undefined ? undefined : shortened(details.hint);
    super(
      `[${where}] expected ${expected}, got ${got}${hint ? `${/[.!?]$/.test(got) ? "" : "."} ${hint}` : ""}`,
      cause === undefined ? undefined : { cause },
    );
    this.name = code === "cancelled" ? "AbortError" : "VdError";
    this.code = code;
    this.where = where;
    this.expected = expected;
    this.got = got;
    this.hint = hint;
  }
}

/** A `data:` URL of more than a few characters, and any other word that fills a screen by itself. */
const ENDLESS_WORD = /data:[^\s,"'()]{0,200},[^\s"'()]{40,}|[^\s"'()]{1000,}/g;
const SHOWN_CHARACTERS = 48;

/** A text with its endless words cut: a picture given as a `data:` URL is no reading matter. */
function shortened(text: string): string {
  return String(text).replace(
    ENDLESS_WORD,
    (word) => `${word.slice(0, SHOWN_CHARACTERS)}… (${word.length} characters)`,
  );
}

/** True for errors of this software, also across realms and duplicate installs. */
export function isVdError(error: unknown): error is VdError {
  if (!(error instanceof Error) || !("code" in error) || !("where" in error)) return false;
  return error.name === "VdError" || (error.name === "AbortError" && error.code === "cancelled");
}

/** What a cancelled piece of work tells of itself. */
export interface CancelledWork {
  /** The signal that ended it; its reason becomes the error's cause. */
  signal?: AbortSignal | undefined;
  /** The work, where the error's place is not the work itself: `the download`. */
  work?: string | undefined;
  /** What ended it; default `an abort`. */
  got?: string | undefined;
  hint?: string | undefined;
}

/**
 * Returns the error of work that its caller cancelled: `[where] expected to run to its end, got an abort`.
 *
 * @param where the work, such as `generation`, or the file or program that it is about
 */
export function cancelledError(where: string, details: CancelledWork = {}): VdError {
  const { signal, work, got = "an abort", hint } = details ?? {};
  const expected = `${work === undefined ? "" : `${work} `}to run to its end`;
  return new VdError({ code: "cancelled", where, expected, got, hint, cause: signal?.reason });
}

/**
 * Returns if the signal has not fired.
 *
 * @throws VdError `cancelled` as {@link cancelledError} words it, once it has; `attr` for what is no signal
 * @example
 * ```ts
 * import { throwIfAborted } from "@vd/kernels-native";
 *
 * const { signal } = new AbortController();
 * for (const file of ["a.png", "b.png"]) throwIfAborted(signal, file, { work: "the reading" });
 * ```
 */
export function throwIfAborted(
  signal: AbortSignal | undefined,
  where: string,
  options: Pick<CancelledWork, "work" | "hint"> = {},
): void {
  if (signal === undefined || signal === null) return;
  if (typeof signal.aborted !== "boolean")
    throw new VdError({ code: "attr", where, expected: "an AbortSignal", got: typeof signal });
  if (signal.aborted) throw cancelledError(where, { ...options, signal });
}

interface NativeErrorFields {
  vdCode: ErrorCode;
  where: string;
  expected: string;
  got: string;
  hint: string;
}

function hasNativeFields(error: unknown): error is Error & NativeErrorFields {
  return error instanceof Error && "vdCode" in error;
}

/** Returns the VdError for an error that the addon threw; any other value unchanged. */
function fromNative(error: unknown): unknown {
  if (!hasNativeFields(error)) return error;
  const { vdCode: code, where, expected, got, hint } = error;
  if (code === "cancelled") return cancelledError(where);
  return new VdError({ code, where, expected, got, hint: hint || undefined });
}

/** Calls the addon; its errors leave as VdErrors. */
export function callNative<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw fromNative(error);
  }
}

/** Does what {@link callNative} does for work on another thread; the error's stack is the caller's. */
export async function awaitNative<T>(body: () => Promise<T>): Promise<T> {
  const caller = new Error("called from");
  try {
    return await callNative(body);
  } catch (error) {
    const translated = fromNative(error);
    if (translated instanceof Error && translated !== error && caller.stack)
      translated.stack = `${translated.name}: ${translated.message}\n${caller.stack.split("\n").slice(2).join("\n")}`;
    throw translated;
  }
}
