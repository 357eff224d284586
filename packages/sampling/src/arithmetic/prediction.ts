import { add, div, mul, sub, type Values } from "./values";

/** A sample as signal·data + noise·unit noise; both factors in float32. */
export interface Mixture {
  readonly signal: number;
  readonly noise: number;
}

/** What a network's output stands for, where samples are {@link Mixture}s. `flow_prediction` needs flow sigmas. */
export type MixturePrediction = "epsilon" | "sample" | "v_prediction" | "flow_prediction";

/** The data that the output predicts. */
export function predictData(kind: MixturePrediction, { signal, noise }: Mixture, output: Values, x: Values): Values {
  switch (kind) {
    case "epsilon":
      return div(sub(x, mul(noise, output)), signal);
    case "sample":
      return output;
    case "v_prediction":
      return sub(mul(signal, x), mul(noise, output));
    case "flow_prediction":
      return sub(x, mul(noise, output));
  }
}

/** The unit noise that the output predicts. Flow models have none of their own: their data prediction decides. */
export function predictNoise(kind: MixturePrediction, mixture: Mixture, output: Values, x: Values): Values {
  if (kind === "epsilon") return output;
  if (kind === "v_prediction") return add(mul(mixture.signal, output), mul(mixture.noise, x));
  return noiseOf(mixture, predictData(kind, mixture, output, x), x);
}

/** The unit noise in a sample whose data is known. */
export function noiseOf({ signal, noise }: Mixture, data: Values, x: Values): Values {
  return div(sub(x, mul(signal, data)), noise);
}
