import type { VdError } from "@vd/kernels-native";
import type { Pausable } from "../pausable";
import { findDuplicateKey } from "./duplicate-key";

/** A member of a JSON object: its name, and its value as it stands there, not looked at yet. */
export interface JsonMember {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** What a JSON text may be, and the error for one that is not. */
export interface JsonRules {
  /** What the text is, for messages: `a header`. */
  readonly what: string;
  /** Most members of the object. */
  readonly maxMembers: number;
  /** Most levels of lists and objects in a member's value. */
  readonly maxLevels: number;
  /** Makes the error. */
  fault(expected: string, got: string, cause?: unknown): VdError;
}

/** Bytes between two pauses. */
const PIECE = 2 ** 16;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Decodes and parses one JSON value of bounded size at once.
 *
 * @throws what `rules.fault` makes, for bytes that are no JSON or more than `maxBytes`
 */
export function parseValue(bytes: Uint8Array, maxBytes: number, rules: JsonRules): unknown {
  if (bytes.length > maxBytes) throw rules.fault(`a value of at most ${maxBytes} bytes`, `${bytes.length} bytes`);
  const text = decode(bytes, rules);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw rules.fault(`${rules.what} in JSON`, JSON.stringify((cause as Error).message).slice(1, -1), cause);
  }
}

/** True where the bytes are those of an object, whole or not. */
export const isObjectText = (bytes: Uint8Array): boolean => bytes[0] === OPEN_OBJECT;

/** The first characters of a text, for messages. */
export const beginning = (bytes: Uint8Array): string => new TextDecoder().decode(bytes.subarray(0, 16));

/** The first key that an object inside a parsed value holds twice, or undefined. Pauses. */
export function* duplicateIn(bytes: Uint8Array): Pausable<string | undefined> {
  return yield* findDuplicateKey(DECODER.decode(bytes));
}

function decode(bytes: Uint8Array, rules: JsonRules): string {
  try {
    return DECODER.decode(bytes);
  } catch (cause) {
    throw rules.fault(`${rules.what} in UTF-8`, "bytes that are not UTF-8", cause);
  }
}

/** The index behind the space from `at`, at most `until`. */
function spaceEnd(bytes: Uint8Array, at: number, until: number): number {
  let end = at;
  while (end < until && isSpace(bytes[end])) end++;
  return end;
}

/** How far a value has been gone over. */
interface ValueScan {
  at: number;
  /** Open lists and objects. */
  levels: number;
  inString: boolean;
  ended: boolean;
}

/** Goes on over a value, to its end, to `until` or to more than `maxLevels` levels. */
function scanValue(bytes: Uint8Array, scan: ValueScan, until: number, maxLevels: number): void {
  let { at, levels, inString } = scan;
  let ended = false;
  while (at < until && !ended && levels <= maxLevels) {
    const byte = bytes[at]!;
    if (inString) {
      at += byte === BACKSLASH ? 2 : 1;
      inString = byte !== QUOTE;
      ended = !inString && levels === 0;
      continue;
    }
    if (levels === 0 && (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || isSpace(byte))) {
      ended = true;
      continue;
    }
    at++;
    if (byte === QUOTE) inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) levels++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) ended = --levels === 0;
  }
  Object.assign(scan, { at, levels, inString, ended });
}

/**
 * Reads a JSON object member by member, in time and memory that grow with what is read, not with what a text of this
 * size could make of them: nothing is parsed before its size, depth and number are known. Pauses every few bytes.
 */
export class JsonMembers {
  private at = 0;
  private numMembers = 0;
  private nextPause = PIECE;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly rules: JsonRules,
  ) {}

  /**
   * Reads the next member; undefined after the last. Not called again then.
   *
   * @throws what `rules.fault` makes
   */
  *next(): Pausable<JsonMember | undefined> {
    const isFirst = this.numMembers === 0;
    if (isFirst) yield* this.open();
    yield* this.space();
    if (this.bytes[this.at] === CLOSE_OBJECT) return yield* this.close();
    if (!isFirst) {
      this.expect(COMMA, "a comma or the end of the object");
      yield* this.space();
    }
    if (++this.numMembers > this.rules.maxMembers)
      throw this.rules.fault(`${this.rules.what} of at most ${this.rules.maxMembers} members`, "more");
    const nameStart = this.at;
    if (this.bytes[nameStart] !== QUOTE) this.unexpected("a name");
    yield* this.value("a closing quote");
    const name = parseValue(this.bytes.subarray(nameStart, this.at), PIECE, this.rules) as string;
    yield* this.space();
    this.expect(COLON, "a colon");
    yield* this.space();
    const valueStart = this.at;
    yield* this.value("a whole value");
    return { name, bytes: this.bytes.subarray(valueStart, this.at) };
  }

  private *open(): Pausable<void> {
    // All bytes, so that a text in another encoding is called that and not bad JSON.
    const decoder = new TextDecoder("utf-8", { fatal: true });
    for (let from = 0; from < this.bytes.length; from += PIECE) {
      try {
        decoder.decode(this.bytes.subarray(from, from + PIECE), { stream: from + PIECE < this.bytes.length });
      } catch (cause) {
        throw this.rules.fault(`${this.rules.what} in UTF-8`, "bytes that are not UTF-8", cause);
      }
      yield;
    }
    this.expect(OPEN_OBJECT, "{");
  }

  private *close(): Pausable<undefined> {
    this.at++;
    yield* this.space();
    if (this.at < this.bytes.length) this.unexpected("nothing after the object");
    return undefined;
  }

  private *space(): Pausable<void> {
    for (;;) {
      this.at = spaceEnd(this.bytes, this.at, this.nextPause);
      if (this.at < this.nextPause) return;
      yield* this.pause();
    }
  }

  /** Goes behind the string or other value that begins here; what it is made of shows when it is parsed. */
  private *value(wanted: string): Pausable<void> {
    const { bytes, rules } = this;
    const scan: ValueScan = { at: this.at, levels: 0, inString: false, ended: false };
    while (!scan.ended) {
      scanValue(bytes, scan, Math.min(bytes.length, this.nextPause), rules.maxLevels);
      this.at = scan.at;
      if (scan.levels > rules.maxLevels) throw this.tooDeep();
      if (scan.ended) return;
      if (this.at >= bytes.length) this.unexpected(wanted);
      yield* this.pause();
    }
  }

  private *pause(): Pausable<void> {
    this.nextPause = this.at + PIECE;
    yield;
  }

  private tooDeep(): VdError {
    const { what, maxLevels } = this.rules;
    return this.rules.fault(`${what} in JSON of at most ${maxLevels + 1} levels`, `more levels at byte ${this.at}`);
  }

  private expect(byte: number, wanted: string): void {
    if (this.bytes[this.at] !== byte) this.unexpected(wanted);
    this.at++;
  }

  private unexpected(wanted: string): never {
    const byte = this.bytes[this.at];
    const found = byte === undefined ? "its end" : JSON.stringify(String.fromCharCode(byte));
    throw this.rules.fault(`${this.rules.what} in JSON`, `${found} at byte ${this.at} instead of ${wanted}`);
  }
}
