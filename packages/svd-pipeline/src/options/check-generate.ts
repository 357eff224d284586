import { randomBytes } from "node:crypto";
import { checkSteering } from "./check-steering";
import { checkTable } from "./check-table";
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
  const values = checkTable("generate", GENERATE_TABLE, options, context) as unknown as GenerateValues;
  const { numFrames, sigmas, steps, decodeChunk, seed = drawSeed() } = values;
  checkSteering(options, values);
  return {
    ...values,
    steps: sigmas && options.steps === undefined ? undefined : steps,
    decodeChunk: decodeChunk && Math.min(decodeChunk, numFrames),
    seed,
  };
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
