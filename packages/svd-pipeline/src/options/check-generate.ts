import { randomBytes } from "node:crypto";
import { VdError } from "@vd/kernels-native";
import { checkSteering } from "./check-steering";
import { checkTable } from "./check-table";
import { FAST } from "./fast";
import { GENERATE_TABLE } from "./generate-table";
import type { ModelFacts, OptionTable } from "./option";
import type { GenerateDefaults, GenerateOptions, GenerateValues } from "./option-types.generated";

/** Options with every default filled in and every value checked. */
export interface CheckedOptions extends Omit<GenerateValues, "steps" | "seed"> {
  /** Undefined where the sigmas decide. */
  steps: number | undefined;
  seed: bigint;
}

/**
 * Checks everything that can be checked before work begins and fills in the defaults. factor: by how much the
 * autoencoder shrinks a side.
 *
 * @throws VdError `attr` naming the option
 */
export function checkOptions(options: GenerateOptions, defaults: GenerateDefaults, factor: number): CheckedOptions {
  const context = { defaults: { ...defaults }, factor };
  const values = checkTable("generate", GENERATE_TABLE, withFast(options), context) as unknown as GenerateValues;
  requireInterval(values);
  const { numFrames, sigmas, steps, decodeChunk, seed = drawSeed() } = values;
  checkSteering(options, values);
  return {
    ...values,
    steps: sigmas && options.steps === undefined ? undefined : steps,
    decodeChunk: decodeChunk && Math.min(decodeChunk, numFrames),
    seed,
  };
}

/** Refuses an interval of noise levels that ends before it begins. Throws `attr`. */
function requireInterval({ guidanceMinSigma = 0, guidanceMaxSigma = Number.POSITIVE_INFINITY }: GenerateValues): void {
  if (guidanceMinSigma <= guidanceMaxSigma) return;
  const expected = `at most guidanceMaxSigma, which is ${guidanceMaxSigma}`;
  throw new VdError({ code: "attr", where: "guidanceMinSigma", expected, got: String(guidanceMinSigma) });
}

/** The options with what `fast` sets among them. */
function withFast(options: GenerateOptions): GenerateOptions {
  if (typeof options !== "object" || options?.fast !== true) return options;
  const open = Object.entries(FAST).filter(([name]) => options[name as keyof typeof FAST] === undefined);
  return { ...options, ...Object.fromEntries(open) };
}

/** Draws a random seed of 32 bits: short enough to type again. */
export function drawSeed(): bigint {
  return BigInt(randomBytes(4).readUInt32LE());
}

/** The defaults of a model. */
export function modelDefaults(facts: ModelFacts): GenerateDefaults {
  const table: OptionTable = GENERATE_TABLE;
  const values = Object.entries(table).flatMap(([name, row]) =>
    row.default?.kind === "model" ? [[name, row.default.of(facts)]] : [],
  );
  return Object.fromEntries(values) as GenerateDefaults;
}
