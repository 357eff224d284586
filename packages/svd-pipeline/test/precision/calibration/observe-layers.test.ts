import { openDevice } from "@vd/kernels-native";
import { compile, type Graph, pausable } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import type { Unet, UnetInputs } from "../../../src/models/index";
import {
  maximaName,
  type ObservedLayer,
  observedUnet,
  samplesName,
} from "../../../src/precision/calibration/observe-layers";

const CHANNELS = 32;
const FRAMES = 3;
const cpu = openDevice("cpu", { threads: 1 });

/** Numbers of both signs, of which the largest magnitude of every channel stands at another token. */
function activations(numTokens: number): Float32Array {
  const values = Float32Array.from({ length: FRAMES * numTokens * CHANNELS }, (_, i) => Math.sin(i));
  for (let frame = 0; frame < FRAMES; frame++)
    for (let channel = 0; channel < CHANNELS; channel++) {
      // The first and the last tokens are among them, which lie beside the padding.
      const token = Math.round((channel / (CHANNELS - 1)) * (numTokens - 1));
      const sign = channel % 2 === 0 ? -1 : 1;
      values[(frame * numTokens + token) * CHANNELS + channel] = sign * (2 + frame + channel);
    }
  return values;
}

/** A UNet that is one convolution over frames, x: [1,F,S,1,C]. */
function oneLayer(numTokens: number): Unet {
  const forward = pausable(function* (g: Graph) {
    const x = g.input("x", [1, FRAMES, numTokens, 1, CHANNELS]);
    const weight = g.input("weight", [CHANNELS, CHANNELS, 3, 1, 1]);
    yield;
    return g.conv({ name: "layer", x, weight, padding: [1, 1, 0, 0, 0, 0] });
  });
  return { forward } as unknown as Unet;
}

async function observed(numTokens: number) {
  const found = new Map<string, ObservedLayer>();
  const unet = oneLayer(numTokens);
  const plan = await compile(cpu, (g: Graph) => {
    g.output("y", observedUnet(unet, found).forward(g, {} as UnetInputs));
  });
  try {
    const x = activations(numTokens);
    await plan.write("x", x);
    await plan.run();
    return { x, maxima: await plan.read(maximaName("layer")), samples: await plan.read(samplesName("layer")) };
  } finally {
    await plan.free();
  }
}

describe("what a layer takes", () => {
  // 64 is the longest window of `pool`, 4096 the most of two passes; 67 and 4099 are primes.
  it.each([2, 63, 64, 65, 67, 144, 4096, 4099])(
    "is observed as the largest magnitudes of every frame and some tokens, of %i tokens",
    async (numTokens) => {
      const { x, maxima, samples } = await observed(numTokens);
      const expected = Array.from({ length: FRAMES * CHANNELS }, (_, i) => {
        const [frame, channel] = [Math.floor(i / CHANNELS), i % CHANNELS];
        let largest = 0;
        for (let token = 0; token < numTokens; token++)
          largest = Math.max(largest, Math.abs(x[(frame * numTokens + token) * CHANNELS + channel]!));
        return largest;
      });
      expect([...maxima]).toEqual(expected);
      const step = Math.max(1, Math.floor((FRAMES * numTokens) / 8));
      const numSamples = Math.floor((FRAMES * numTokens) / step);
      expect(samples).toHaveLength(numSamples * CHANNELS);
      for (let i = 0; i < numSamples; i++) {
        const from = i * step * CHANNELS;
        expect(samples.slice(i * CHANNELS, (i + 1) * CHANNELS)).toEqual(x.slice(from, from + CHANNELS));
      }
    },
  );
});
