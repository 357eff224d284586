// @vd/sampling alone: every sampler turns noise into data, with a model that is a formula instead of a network.
import { createSampler, guidanceScales, karrasSigmas, linearSteps, samplerNames } from "@vd/sampling";
import { CpuGenerator } from "@vd/tensor";

// As the scheduler_config.json of Stable Video Diffusion has it.
const config = {
  _class_name: "EulerDiscreteScheduler",
  prediction_type: "v_prediction",
  timestep_type: "continuous",
  use_karras_sigmas: true,
  sigma_min: 0.002,
  sigma_max: 700,
};

/** What a perfect network says when all data are 0.5: v, from its input and the timestep 0.25·ln σ. */
function perfectModel(input, timestep) {
  const sigma = Math.exp(4 * timestep);
  const deviation = Math.sqrt(sigma * sigma + 1);
  return input.map((value) => (value / deviation - 0.5) / (sigma / deviation));
}

for (const name of samplerNames) {
  const sampler = createSampler(config, { name, steps: 12 });
  const generator = new CpuGenerator(7);
  let x = generator.randn(64).map((value) => value * sampler.initNoiseSigma);
  let state;
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const modelOutput = perfectModel(sampler.scaleModelInput(x, call), sampler.modelTimestep(call));
    const noise = sampler.noiseDrawsAt(call) ? generator.randn(64) : undefined;
    ({ x, state } = sampler.step(call, { x, modelOutput, noise, state }));
  }
  const farthest = x.reduce((most, value) => Math.max(most, Math.abs(value - 0.5)), 0);
  // A sampler whose steps are linear runs on a device as one op.
  const steps = linearSteps(sampler);
  console.log(`${name}: within ${farthest.toFixed(3)} of the data, ${steps ? "linear" : "on the host"}`);
}

console.log("noise levels:", ...karrasSigmas({ min: 0.002, max: 700 }, [0, 0.5, 1]).map((sigma) => sigma.toFixed(3)));
console.log("guidance of 5 frames:", ...guidanceScales("triangle", 1, 3, 5));
