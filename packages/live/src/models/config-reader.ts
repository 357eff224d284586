import { shownJson, VdError } from "@vd/kernels-native";
import { MAX_LEVELS, MAX_WIDTH } from "@vd/tensor";

type Json = Record<string, unknown>;

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads typed values out of the `config.json` of a model of diffusers or transformers; a missing key and null mean its default. All
 *  methods throw VdError `weights` or, for what is not built here, `unsupported`. */
export class ConfigReader {
  constructor(
    private readonly json: Json,
    private readonly where: string,
  ) {
    if (!isObject(json)) throw new VdError({ code: "weights", where, expected: "an object", got: shownJson(json) });
  }

  fail(key: string, expected: string, got: unknown, code: "weights" | "unsupported" = "weights"): never {
    throw new VdError({ code, where: `${this.where}] [${key}`, expected, got: shownJson(got) });
  }

  value(key: string, fallback: unknown): unknown {
    return this.json[key] ?? fallback;
  }

  count(key: string, fallback: number, max = MAX_WIDTH): number {
    const value = this.value(key, fallback);
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
    this.fail(key, `a whole number from 1 to ${max}`, value);
  }

  number(key: string, fallback: number, isValid: (value: number) => boolean): number {
    const value = this.value(key, fallback);
    if (typeof value === "number" && Number.isFinite(value) && isValid(value)) return value;
    this.fail(key, "a number in its range", value);
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.value(key, fallback);
    return typeof value === "boolean" ? value : this.fail(key, "true or false", value);
  }

  oneOf<T extends string | number>(key: string, choices: readonly T[], fallback: T): T {
    const value = this.value(key, fallback);
    const found = choices.find((choice) => choice === value);
    return found ?? this.fail(key, choices.join(" or "), value);
  }

  counts(key: string, fallback: readonly number[]): number[] {
    const value = this.value(key, fallback);
    const isWidth = (item: unknown) =>
      typeof item === "number" && Number.isInteger(item) && item >= 1 && item <= MAX_WIDTH;
    if (Array.isArray(value) && value.length > 0 && value.length <= MAX_LEVELS && value.every(isWidth)) return value;
    this.fail(key, `a list of at most ${MAX_LEVELS} positive whole numbers`, value);
  }

  /** One number for each level, or one for all. */
  perLevel(key: string, fallback: number, levels: number, max = MAX_WIDTH): number[] {
    const value = this.value(key, fallback);
    if (!Array.isArray(value)) return Array<number>(levels).fill(this.count(key, fallback, max));
    const list = this.counts(key, []);
    const fits = list.length === levels && list.every((item) => item <= max);
    return fits ? list : this.fail(key, `${levels} whole numbers from 1 to ${max}, or one`, value);
  }

  /** Refuses a value that no code here computes. values: those that can be, the class's default first. */
  oneBuilt(key: string, values: readonly unknown[]): void {
    const value = this.json[key] === undefined ? values[0] : this.json[key];
    if (values.includes(value)) return;
    this.fail(key, values.map(shownJson).join(" or "), value, "unsupported");
  }

  /** Kinds of blocks as what they mean. fallback: for a missing key. */
  kinds(
    key: string,
    known: Readonly<Record<string, boolean>>,
    levels: number,
    fallback?: readonly string[],
  ): boolean[] {
    const value = this.json[key] ?? fallback;
    const fits = (kind: unknown) => typeof kind === "string" && Object.hasOwn(known, kind);
    if (!Array.isArray(value) || value.length !== levels || !value.every(fits))
      this.fail(key, `${levels} of ${Object.keys(known).join(", ")}`, value, "unsupported");
    return value.map((kind) => known[kind as string]!);
  }

  sampleSize(): readonly [height: number, width: number] | undefined {
    const value = this.value("sample_size", null);
    if (value === null) return undefined;
    const pair = typeof value === "number" ? [value, value] : value;
    const isSide = (side: unknown) =>
      typeof side === "number" && Number.isInteger(side) && side >= 1 && side <= MAX_WIDTH;
    if (Array.isArray(pair) && pair.length === 2 && pair.every(isSide)) return pair as [number, number];
    this.fail("sample_size", "a side, or height and width", value);
  }
}
