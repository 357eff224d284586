import { readFileSync } from "node:fs";
import { SafetensorsFile } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { CausalVideoAutoencoder, causalVaeTensors, parseCausalVaeConfig, SEEDVR2_VAE_CONFIG } from "../../src/index";
import { randomWeights } from "../support/random-weights";
import { noiseClip, SMALL } from "./support";

const fixture = new URL("../../../../fixtures/seedvr_vae/seedvr_a", import.meta.url);
const json = JSON.parse(readFileSync(`${fixture.pathname}.json`, "utf8"));

describe("the tensors of a checkpoint", () => {
  it("are those that the reference's own checkpoint has", () => {
    const file = SafetensorsFile.open(`${fixture.pathname}.safetensors`);
    const stored = [...file.entries].filter(([name]) => name.startsWith("w."));
    file.close();
    const expected = stored.map(([name, { shape }]) => `${name.slice(2)} ${shape}`).sort();
    const ours = [...causalVaeTensors(parseCausalVaeConfig(json.config))];
    expect(ours.map(({ name, shape }) => `${name} ${shape}`).sort()).toEqual(expected);
  });

  it("are those that the model asks for, in the published size too", async () => {
    for (const config of [
      SMALL,
      { ...SMALL, temporalLevels: 1, layersPerBlock: 3, quantConv: true, postQuantConv: true },
    ]) {
      const { weights, asked } = randomWeights();
      await CausalVideoAutoencoder.fromWeights(weights, config);
      // Projections of attention are stacked, so that the stand-in does not hear of each.
      const stacked = /to_[qkv]\./;
      const names = [...causalVaeTensors(config)].map(({ name }) => name).filter((name) => !stacked.test(name));
      expect([...asked].sort()).toEqual(names.sort());
    }
    let count = 0;
    for (const { shape } of causalVaeTensors(SEEDVR2_VAE_CONFIG)) count += shape.reduce((all, size) => all * size, 1);
    expect(count).toBe(PUBLISHED_PARAMETERS);
  });
});

/** Counted by hand, layer by layer, from the published configuration: 501 MB in float16. */
const PUBLISHED_PARAMETERS = 250_648_227;

describe("random weights", () => {
  it("make an autoencoder whose results are of the size of its input, the same for the same seed", async () => {
    const results: Float32Array[] = [];
    for (const seed of [1, 1, 2]) {
      const vae = await CausalVideoAutoencoder.withRandomWeights({ config: SMALL, seed });
      results.push((await vae.decode(noiseClip([2, 2, 2, 4]))).values);
      await vae.close();
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).not.toEqual(results[0]);
    const deviation = Math.sqrt(results[0]!.reduce((sum, value) => sum + value ** 2, 0) / results[0]!.length);
    expect(deviation).toBeGreaterThan(0.1);
    expect(deviation).toBeLessThan(10);
  });
});
