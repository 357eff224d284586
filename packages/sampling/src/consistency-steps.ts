import { requireOptions, VdError } from "@vd/kernels-native";
import { ConfigReader, classNameOf, type SchedulerConfig } from "./config";
import { boundary, distilledBetas } from "./samplers/lcm";
import { ddpmBetas, readAlphas } from "./schedule/alphas";
import { distilledTimesteps } from "./schedule/distilled-timesteps";

/** One step of consistency sampling: x = signal · data + noise · unit noise goes in, data comes out. */
export interface ConsistencyStep {
  readonly timestep: number;
  /** Parts of a sample at this step. */
  readonly signal: number;
  readonly noise: number;
  /** data = ofSample · x + ofPrediction · what the network says of x. */
  readonly ofSample: number;
  readonly ofPrediction: number;
}

/** How steps are chosen. */
export interface ConsistencyOptions {
  /** Calls of the network. */
  steps: number;
  /** Where the first one stands, above 0 to 1: 1 begins at noise alone. */
  strength: number;
}

const LCM = "LCMScheduler";

/** Evenly spaced timesteps that end a step above 0, as turbo models are trained for (`timestep_spacing` "trailing"). */
function trailingTimesteps(trained: number, { steps, strength }: ConsistencyOptions): number[] {
  const highest = trained * strength;
  return Array.from({ length: steps }, (_, i) => Math.max(Math.round(highest * (1 - i / steps)) - 1, 0));
}

function checkOptions({ steps, strength }: ConsistencyOptions, trained: number): void {
  const fail = (where: string, expected: string, got: unknown): never => {
    throw new VdError({ code: "attr", where, expected, got: String(got) });
  };
  if (!(Number.isInteger(steps) && steps >= 1 && steps <= trained))
    fail("steps", `a whole number from 1 to ${trained}`, steps);
  if (!(strength > 0 && strength <= 1)) fail("strength", "a number above 0, at most 1", strength);
}

/**
 * Returns the steps of few-step models as numbers: of those distilled for consistency (LCMScheduler: timesteps of the distillation,
 * boundary condition) and, for every other class, of turbo models: the data as the prediction has them at evenly spaced timesteps.
 * Between two steps fresh noise of the next one is added. Sources: https://arxiv.org/abs/2310.04378;
 * https://arxiv.org/abs/2311.17042.
 *
 * @throws VdError `attr` for options or settings that do not fit
 * @example
 * ```ts
 * import { consistencySteps } from "@vd/sampling";
 *
 * const [only] = consistencySteps({ _class_name: "EulerDiscreteScheduler" }, { steps: 1, strength: 0.5 });
 * console.log(only.timestep, only.signal); // 499, and the root of ᾱ there
 * ```
 */
export function consistencySteps(config: SchedulerConfig, options: ConsistencyOptions): ConsistencyStep[] {
  const name = classNameOf(config, LCM);
  requireOptions("consistencySteps", options);
  const isDistilled = name === LCM;
  const reader = new ConfigReader(config, name);
  const alphas = readAlphas(reader, isDistilled ? distilledBetas : ddpmBetas);
  checkOptions(options, alphas.length);
  const timesteps = isDistilled
    ? distilledTimesteps(reader, options, false).timesteps
    : trailingTimesteps(alphas.length, options);
  const kind = reader.choice("prediction_type", ["epsilon", "sample", "v_prediction"], "epsilon");
  const scaling = reader.number("timestep_scaling", 10);
  return timesteps.map((timestep): ConsistencyStep => {
    const [signal, noise] = [Math.sqrt(alphas[timestep]!), Math.sqrt(1 - alphas[timestep]!)];
    const [x, prediction] = { epsilon: [1 / signal, -noise / signal], sample: [0, 1], v_prediction: [signal, -noise] }[
      kind
    ] as [number, number];
    const { skip, output } = isDistilled ? boundary(timestep, scaling) : { skip: 0, output: 1 };
    return { timestep, signal, noise, ofSample: skip + output * x, ofPrediction: output * prediction };
  });
}
