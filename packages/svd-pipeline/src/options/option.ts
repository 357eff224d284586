import type { Kind } from "./kinds";

/** What the defaults of a model follow from. */
export interface ModelFacts {
  /** Side of the pictures that the model was made for, if its configuration says so. */
  sampleSize: number | undefined;
  /** By how much the autoencoder shrinks a side. */
  factor: number;
  /** Frames that the model was trained for. */
  numFrames: number;
  /** Whether the model is distilled for few steps without guidance. */
  distilled?: boolean | undefined;
}

/** What an option is when nothing is said. */
export type Default =
  /** Always the same value. */
  | { kind: "always"; value: unknown }
  /** What suits the model; `text` says it in words. */
  | { kind: "model"; of(facts: ModelFacts): number; text: string }
  /** What suits the device. */
  | { kind: "device"; cpu: string; cuda: string }
  /** Found when it is needed; `text` says how. */
  | { kind: "found"; text: string };

/** Two options that a command line sets with one text. */
export interface PairForm {
  /** A regular expression that well-formed texts match; for JSON schemas. */
  pattern: string;
  /** True if a JSON number may stand for both values. */
  takesNumber?: boolean;
  /** Words that set other options of the table instead, by what is typed. */
  words?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /**
   * Reads both values.
   *
   * @throws VdError `attr`
   */
  read(text: string, where: string): readonly [number, number];
  /** Writes both values as `read` takes them. */
  write(first: number, second: number): string;
}

/** How a command line and a config file say an option. Two options with the same form are set together. */
export interface CliForm {
  /** `-o, --output <FILE>`; `[FILE]` where the value may be left out; without a value a switch; `[IMAGE]` alone for the
   *  word that is no option. */
  flags: string;
  /** Turns a switch off that is on by default, and what the help says of it. */
  off?: { flag: string; doc: string };
  /** Further words for values of a choice, by what is typed. */
  words?: Readonly<Record<string, string>>;
  /** What joins the values of an option that is given more than once; otherwise the last one counts. */
  joins?: string;
  /** Where two options share the form. */
  pair?: PairForm;
  /** What the help says of a pair, and its default. */
  doc?: string;
  default?: string;
  /** False for what makes no sense in a config file. */
  inFile?: false;
}

/** One option: everything that types, checks, help, schemas and documentation say about it. */
export interface OptionRow {
  kind: Kind;
  /** Sentences; the help of a command line shows the first. */
  doc: string;
  /** `pixels`, `frames per second`. */
  unit?: string;
  /** Left out where nothing happens without the option. */
  default?: Default;
  /** True for an option without which nothing can be done. */
  required?: true;
  /** Left out for options that only programs have. */
  cli?: CliForm;
}

/** Options by name. */
export type OptionTable = Readonly<Record<string, OptionRow>>;

/** Makes the default that is always the same. */
export const always = <T>(value: T) => ({ kind: "always", value }) as const;

/** Makes the default that suits the model. */
export const perModel = (of: (facts: ModelFacts) => number, text: string) => ({ kind: "model", of, text }) as const;

/** Makes the default that suits the device. */
export const perDevice = (cpu: string, cuda: string) => ({ kind: "device", cpu, cuda }) as const;

/** Makes the default that is found when it is needed. */
export const found = (text: string) => ({ kind: "found", text }) as const;

/** The default in words, as it really is: `float16 on a GPU, float32 on the CPU`; undefined where there is none. */
export function defaultText(given: Default | undefined): string | undefined {
  if (given === undefined) return undefined;
  switch (given.kind) {
    case "always":
      return String(given.value);
    case "device":
      return `${given.cuda} on a GPU, ${given.cpu} on the CPU`;
    default:
      return given.text;
  }
}

/** A table and what documentation and help say of it. */
export interface OptionGroup {
  title: string;
  intro: string;
  table: OptionTable;
  /** True for options that only a command line has. */
  isApp?: boolean;
}
