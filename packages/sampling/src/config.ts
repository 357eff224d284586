import { requireOptions, shownJson, VdError } from "@vd/kernels-native";
import { MAX_STEPS } from "./options";

/** A parsed `scheduler_config.json` of the diffusers layout. Keys that a sampler does not know are ignored. */
export interface SchedulerConfig {
  readonly _class_name?: string;
  readonly [key: string]: unknown;
}

const namedNumbers: Readonly<Record<string, number>> = {
  inf: Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/**
 * Returns the class of a config, or `fallback` where it says none.
 *
 * @throws VdError `attr` for what is no config, and for a class that is no text
 */
export function classNameOf(config: SchedulerConfig, fallback: string): string {
  requireOptions("scheduler config", config);
  const given: unknown = config._class_name ?? fallback;
  if (typeof given === "string") return given;
  const expected = "the name of a scheduler class";
  throw new VdError({ code: "attr", where: "scheduler _class_name", expected, got: shownJson(given) });
}

/** Reads typed values out of a scheduler config; a missing key and `null` mean the class's default. */
export class ConfigReader {
  private readonly config: SchedulerConfig;
  private readonly className: string;

  constructor(config: SchedulerConfig, className: string) {
    this.config = config;
    this.className = className;
  }

  /** A finite or infinite number; infinities may be spelled as strings, since JSON has none. Throws `attr`. */
  number(key: string, fallback: number): number {
    return this.optionalNumber(key) ?? fallback;
  }

  /** As {@link number}, without a default. */
  optionalNumber(key: string): number | undefined {
    const value = this.config[key];
    if (value === undefined || value === null) return undefined;
    const number = typeof value === "string" ? namedNumbers[value] : value;
    if (typeof number !== "number" || Number.isNaN(number)) throw this.wrong(key, "a number", value);
    return number;
  }

  /**
   * An integer of at least `min` and at most {@link MAX_STEPS}: all integers of schedulers count steps, or less.
   *
   * @throws VdError `attr`
   */
  integer(key: string, fallback: number, min: number): number {
    const value = this.number(key, fallback);
    if (Number.isInteger(value) && value >= min && value <= MAX_STEPS) return value;
    throw this.wrong(key, `an integer in ${min}…${MAX_STEPS}`, value);
  }

  /** true or false. Throws `attr`. */
  flag(key: string, fallback: boolean): boolean {
    const value = this.config[key];
    if (value === undefined || value === null) return fallback;
    if (typeof value !== "boolean") throw this.wrong(key, "true or false", value);
    return value;
  }

  /** One of `choices`. Throws `attr`. */
  choice<Choice extends string>(key: string, choices: readonly Choice[], fallback: Choice): Choice {
    const value = this.config[key];
    if (value === undefined || value === null) return fallback;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw this.wrong(key, `one of ${choices.join(", ")}`, value);
    return found;
  }

  /** A list of numbers. Throws `attr`. */
  optionalNumbers(key: string): readonly number[] | undefined {
    const value = this.config[key];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || value.length > MAX_STEPS || !value.every((item) => Number.isFinite(item))) {
      throw this.wrong(key, `a list of at most ${MAX_STEPS} numbers`, value);
    }
    return value;
  }

  /** Refuses a key that is set to anything but null or false. Throws `unsupported`. */
  refuse(key: string, hint: string): void {
    const value = this.config[key];
    if (value === undefined || value === null || value === false) return;
    const where = `${this.className}.${key}`;
    throw new VdError({ code: "unsupported", where, expected: "the key unset", got: shownJson(value), hint });
  }

  /** Refuses more than one of the keys being true. Throws `attr`. */
  atMostOne(keys: readonly string[]): void {
    const set = keys.filter((key) => this.flag(key, false));
    if (set.length < 2) return;
    const where = this.className;
    throw new VdError({ code: "attr", where, expected: `at most one of ${keys.join(", ")}`, got: set.join(" and ") });
  }

  private wrong(key: string, expected: string, got: unknown): VdError {
    return new VdError({
      code: "attr",
      where: `${this.className}.${key}`,
      expected,
      got: shownJson(got),
      hint: "Correct the scheduler_config.json of the model.",
    });
  }
}
