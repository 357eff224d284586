import { VdError } from "@vd/kernels-native";
import { checkParameterNames } from "./option-names";
import { checkParameters } from "./options";
import type { SessionParts } from "./parts";
import type { LiveParameters } from "./types";

/** Parameters that the model is told. */
const TOLD = [
  "prompt",
  "negativePrompt",
  "strength",
  "guidanceScale",
  "delta",
  "picture",
  "motion",
  "seed",
] as const satisfies readonly (keyof LiveParameters)[];

/** True for parameters among which are some that the model is told. */
export const isTold = (parameters: LiveParameters) => TOLD.some((name) => parameters[name] !== undefined);

/**
 * Checks parameters that are set while a session runs.
 *
 * @throws VdError `attr` for one that the model does not have, or that only a new session can take
 */
export function checkChange(parameters: LiveParameters, { info }: Pick<SessionParts, "info">): void {
  checkParameterNames(parameters);
  checkParameters(parameters, info);
  if (parameters.seed !== undefined && info.kind !== "clips") {
    const [expected, hint] = ["a model of clips", "Other sessions take their seed when they are created."];
    throw new VdError({ code: "attr", where: "session] [seed", expected, got: info.name, hint });
  }
}
