import { VdError } from "@vd/kernels-native";

/** One call of PNDM's schedule, by training timesteps. */
export interface PndmCall {
  /** What the model is told. */
  timestep: number;
  step: number;
  /** 0 to 3 within a Runge–Kutta step; "correct" takes the first step again by the mean of both its slopes. */
  kind: 0 | 1 | 2 | 3 | "correct" | "multistep";
  /** Where the transfer starts and ends; a negative end is the clean sample. */
  from: number;
  to: number;
}

/** What decides the calls. */
export interface PndmRequest {
  /** Falling, one per step. */
  timesteps: readonly number[];
  /** Between two steps. */
  stride: number;
}

/** Steps of four calls, which the multistep method needs before it. */
const WARM_UP_STEPS = 3;

/** Returns the calls without a Runge–Kutta warm-up: the first step takes two calls, the others one. */
export function multistepCalls({ timesteps, stride }: PndmRequest): PndmCall[] {
  return timesteps.flatMap((timestep, step): PndmCall[] => {
    const own: PndmCall = { timestep, step, kind: "multistep", from: timestep, to: timestep - stride };
    if (step !== 1) return [own];
    return [{ timestep, step: 0, kind: "correct", from: timestep + stride, to: timestep }, own];
  });
}

/**
 * Returns the calls of three Runge–Kutta steps, then one call a step.
 *
 * @throws VdError `attr` for too few steps
 */
export function rungeKuttaCalls({ timesteps, stride }: PndmRequest): PndmCall[] {
  if (timesteps.length <= WARM_UP_STEPS) {
    const [where, expected] = ["steps", `at least ${WARM_UP_STEPS + 1} steps`];
    const hint = "Or set skip_prk_steps in the scheduler_config.json.";
    throw new VdError({ code: "attr", where, expected, got: String(timesteps.length), hint });
  }
  const half = Math.floor(stride / 2);
  return timesteps.flatMap((timestep, step): PndmCall[] => {
    if (step >= WARM_UP_STEPS) return [{ timestep, step, kind: "multistep", from: timestep, to: timestep - stride }];
    const next = timesteps[step + 1]!;
    const visited = [timestep, next + half, next + half, next];
    return ([0, 1, 2, 3] as const).map((kind) => ({
      ...{ timestep: visited[kind]!, step, kind, from: timestep },
      to: visited[kind]! - (kind % 2 === 0 ? half : 0),
    }));
  });
}
