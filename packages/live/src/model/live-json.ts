import { basename } from "node:path";
import { shownJson, VdError } from "@vd/kernels-native";
import { MAX_WIDTH } from "@vd/tensor";
import type { LiveModelInfo, LiveStart } from "./types";

type Json = Record<string, unknown>;

/** What this code can play, by what live.json must say of it. */
const FORMAT = /^[\w-]+-live\/1$/;
const MAX_STEPS = 1000;
const MAX_NAMES = 1024;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isName = (value: unknown): value is string => typeof value === "string" && value.length > 0;
/** Paths stay inside the model's folder. */
const isInside = (path: string) => !/^[/\\]|(^|[/\\])\.\.([/\\]|$)|^[a-z]:/i.test(path);

class Reader {
  constructor(
    private readonly json: Json,
    private readonly where: string,
  ) {}

  fail(key: string, expected: string, got: unknown = this.json[key]): never {
    throw new VdError({ code: "weights", where: `${this.where}] [${key}`, expected, got: shownJson(got) });
  }

  count(key: string, max = MAX_WIDTH): number {
    const value = this.json[key];
    const fits = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max;
    return fits ? value : this.fail(key, `a whole number from 1 to ${max}`);
  }

  positive(key: string): number {
    const value = this.json[key];
    const fits = typeof value === "number" && Number.isFinite(value) && value > 0;
    return fits ? value : this.fail(key, "a positive number");
  }

  exactly(key: string, wanted: unknown): void {
    if (shownJson(this.json[key]) !== shownJson(wanted)) this.fail(key, shownJson(wanted));
  }

  names(key: string): string[] {
    const value = this.json[key];
    const fits = Array.isArray(value) && value.length >= 1 && value.length <= MAX_NAMES && value.every(isName);
    return fits && new Set(value).size === value.length ? value : this.fail(key, "a list of different names");
  }

  object(key: string): Json {
    const value = this.json[key];
    return isObject(value) ? value : this.fail(key, "an object");
  }

  /** Noise levels by the number of steps, falling. */
  sigmas(key: string): Map<number, readonly number[]> {
    const rows = Object.entries(this.object(key)).map(([text, value]): [number, readonly number[]] => {
      const steps = Number(text);
      const levels: unknown[] = Array.isArray(value) ? value : [];
      const falls = levels.every(
        (level, i) => typeof level === "number" && level > 0 && (i === 0 || level < (levels[i - 1] as number)),
      );
      if (!Number.isInteger(steps) || steps < 1 || steps > MAX_STEPS || levels.length !== steps || !falls)
        this.fail(key, "for each number of steps as many falling noise levels above 0");
      return [steps, levels as number[]];
    });
    if (rows.length === 0) this.fail(key, "noise levels for a number of steps");
    return new Map(rows.sort(([a], [b]) => a - b));
  }

  keys(actions: readonly string[]): Record<string, string> {
    const parts = new Set(actions.flatMap((action) => action.split("+")));
    const rows = Object.entries(this.json.keys === undefined ? {} : this.object("keys"));
    for (const [, part] of rows)
      if (!isName(part) || !parts.has(part)) this.fail("keys", `parts of actions: ${[...parts].join(", ")}`);
    return Object.fromEntries(rows) as Record<string, string>;
  }

  starts(): LiveStart[] {
    const value = this.json.starts;
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_NAMES) this.fail("starts", "start states");
    return value.map((start: unknown): LiveStart => {
      if (!isObject(start) || !isName(start.name) || !isName(start.file) || !isInside(start.file))
        this.fail("starts", "a name and a file of the model's folder for each", start);
      const { name, file, ...details } = start as { name: string; file: string };
      return { name, file, details };
    });
  }
}

/** EDM's preconditioning, as live.json writes it: the only one that {@link recordFrame} computes. */
const PRECONDITIONING = {
  c_skip: "sd^2/(s^2+sd^2)",
  c_out: "s*sd/sqrt(s^2+sd^2)",
  c_in: "1/sqrt(s^2+sd^2)",
  timestep: "ln(s)/4",
  context_scale: "1/sd",
};

/**
 * Reads what live.json says of a model. folder: where it lies.
 *
 * @throws VdError `weights` for anything that is missing or out of range
 */
export function parseLiveJson(json: Json, folder: string, where = "live.json"): LiveModelInfo {
  const read = new Reader(json, where);
  if (typeof json.format !== "string" || !FORMAT.test(json.format)) read.fail("format", "tiny-live/1");
  read.exactly("sampler", "euler");
  read.exactly("preconditioning", PRECONDITIONING);
  read.exactly("pixel_range", [-1, 1]);
  const actions = read.names("actions");
  const sigmas = read.sigmas("sigmas");
  const defaultSteps = read.count("default_steps", MAX_STEPS);
  if (!sigmas.has(defaultSteps)) read.fail("default_steps", `one of ${[...sigmas.keys()].join(", ")}`);
  return {
    kind: "game",
    name: basename(folder),
    folder,
    width: read.count("width"),
    height: read.count("height"),
    fps: read.positive("fps"),
    contextFrames: read.count("context_frames", 64),
    sigmaData: read.positive("sigma_data"),
    defaultSteps,
    sigmas,
    actions,
    keys: read.keys(actions),
    starts: read.starts(),
  };
}
