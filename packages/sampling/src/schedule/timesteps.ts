import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import { arangeDown, linspace, roundHalfEven } from "./ranges";

/** How inference timesteps are spread over the training timesteps: table 2 of https://arxiv.org/abs/2305.08891. */
export type TimestepSpacing = "linspace" | "leading" | "trailing";

/**
 * Reads `timestep_spacing`.
 *
 * @throws VdError `attr`
 */
export function readTimestepSpacing(reader: ConfigReader, fallback: TimestepSpacing): TimestepSpacing {
  return reader.choice("timestep_spacing", ["linspace", "leading", "trailing"], fallback);
}

/** Everything that decides a row of timesteps. */
export interface TimestepRequest {
  spacing: TimestepSpacing;
  steps: number;
  /** Training timesteps. */
  trained: number;
  /** Added to "leading" timesteps. */
  offset: number;
}

function trailing({ steps, trained }: TimestepRequest, from: number): number[] {
  return arangeDown(from, trained / steps).map((value) => roundHalfEven(value) - 1);
}

function leading({ offset }: TimestepRequest, count: number, stride: number): number[] {
  return Array.from({ length: count }, (_, i) => (count - 1 - i) * stride + offset);
}

/**
 * Falling timesteps as the Euler and Heun families space them: float32, and "linspace" is not rounded. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_euler_discrete.py `set_timesteps`.
 */
export function fractionalTimesteps(request: TimestepRequest): number[] {
  const { spacing, steps, trained } = request;
  if (spacing === "linspace")
    return linspace(0, trained - 1, steps)
      .reverse()
      .map(Math.fround);
  return spacing === "leading" ? leading(request, steps, Math.floor(trained / steps)) : trailing(request, trained);
}

/** Falling integer timesteps as DDIM spaces them. */
export function integerTimesteps(request: TimestepRequest): number[] {
  return request.spacing === "linspace"
    ? linspace(0, request.trained - 1, request.steps)
        .reverse()
        .map(roundHalfEven)
    : fractionalTimesteps(request);
}

/**
 * Falling integer timesteps as the multistep solvers space them: one more than asked for, without the last. `last`
 * replaces the number of training timesteps where a solver clips the low-SNR end.
 */
export function solverTimesteps(request: TimestepRequest, last = request.trained): number[] {
  const { spacing, steps } = request;
  if (spacing === "trailing") return trailing(request, last);
  const values =
    spacing === "linspace"
      ? linspace(0, last - 1, steps + 1)
          .reverse()
          .map(roundHalfEven)
      : leading(request, steps + 1, Math.floor(last / (steps + 1)));
  return values.slice(0, -1);
}

/**
 * Integer timesteps that index ᾱ.
 *
 * @throws VdError `attr` where one lies outside
 */
export function checkedTimesteps(timesteps: readonly number[], trained: number): readonly number[] {
  const wrong = timesteps.find((timestep) => !(timestep >= 0 && timestep < trained));
  if (wrong === undefined) return timesteps;
  throw new VdError({
    code: "attr",
    where: "timesteps",
    expected: `values in 0…${trained - 1}`,
    got: String(wrong),
    hint: "Check the number of steps, steps_offset and timestep_spacing.",
  });
}

/**
 * Returns custom timesteps as integers that index ᾱ.
 *
 * @throws VdError `attr` where they do not fall, or one lies outside
 */
export function fallingTimesteps(given: readonly number[], trained: number): readonly number[] {
  given.forEach((timestep, i) => {
    if (i === 0 || timestep < given[i - 1]!) return;
    const [where, expected] = [`timesteps[${i}]`, `less than ${given[i - 1]}`];
    throw new VdError({ code: "attr", where, expected, got: String(timestep) });
  });
  return checkedTimesteps(given.map(Math.trunc), trained);
}
