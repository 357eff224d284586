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

/** The one error class of all packages. Message: `[where] expected X, got Y. Hint` */
export class VdError extends Error {
  override readonly name = "VdError";
  readonly code: ErrorCode;
  readonly where: string;
  readonly expected: string;
  readonly got: string;
  readonly hint: string | undefined;

  constructor(details: VdErrorDetails) {
    const { code, where, expected, got, hint, cause } = details;
    super(
      `[${where}] expected ${expected}, got ${got}${hint ? `${/[.!?]$/.test(got) ? "" : "."} ${hint}` : ""}`,
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    this.where = where;
    this.expected = expected;
    this.got = got;
    this.hint = hint;
  }
}

/** True for errors of this software, also across realms and duplicate installs. */
export function isVdError(error: unknown): error is VdError {
  return error instanceof Error && error.name === "VdError" && "code" in error && "where" in error;
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

/** The VdError for an error that the addon threw; any other value unchanged. */
export function fromNative(error: unknown): unknown {
  if (!hasNativeFields(error)) return error;
  const { vdCode: code, where, expected, got, hint } = error;
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

/** As {@link callNative} for work on another thread; the error's stack is the caller's. */
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
