import type { Sampler, SamplerState } from "@vd/sampling";
import type { Predict } from "../../denoising/host-stepper";

/** How a call's guess of the clean latents follows from the sample and the model's output: `fromSample · x + fromOutput · output`. */
export interface GuessTerms {
  fromSample: number;
  fromOutput: number;
}

/** Finds {@link GuessTerms} call by call, by taking the sampler's steps with two numbers: (1, 0) as sample, (0, 1) as output. */
export class GuessProbe {
  private state: SamplerState | undefined;
  private next = 0;

  constructor(private readonly sampler: Sampler) {}

  /** Those of a call, asked for in the order of the calls, none of them twice. */
  at(call: number): GuessTerms {
    while (this.next < call) this.step();
    return this.step();
  }

  private step(): GuessTerms {
    const { sampler } = this;
    const call = this.next++;
    const { denoised, state } = sampler.step(call, {
      x: Float32Array.of(1, 0),
      modelOutput: Float32Array.of(0, 1),
      ...(sampler.noiseDrawsAt(call) && { noise: new Float32Array(2) }),
      state: this.state,
      limit: (data) => data,
    });
    this.state = state;
    return { fromSample: denoised[0]!, fromOutput: denoised[1]! };
  }
}

/** Returns predictions of which skipped ones are the output whose guess of the clean latents is the last one, so that the sampler's step goes on
 *  with that, whatever the sampler. onSkip: hears of each. */
export function skippingCalls(predict: Predict, sampler: Sampler, onSkip: () => void): Predict {
  const probe = new GuessProbe(sampler);
  return async (call) => {
    if (call.kind !== "skipped") return predict(call);
    onSkip();
    const { fromSample, fromOutput } = probe.at(call.index);
    return call.latents.map((x, i) => (call.denoised[i]! - fromSample * x) / fromOutput);
  };
}
