import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { clipVision, parseClipVisionConfig, parseUnetConfig, unet } from "@vd/svd-pipeline";
import { SafetensorsFile, Weights } from "@vd/tensor";
import { parseVaeConfig, temporalVae } from "@vd/vae-opt";
import type { Numbers } from "../../src/index";

/** The tiny model that comes with the project. */
export const TINY = fileURLToPath(new URL("../../../../models/tiny-svd", import.meta.url));

const pathOf = (name: string) => fileURLToPath(new URL(`../../../../fixtures/${name}`, import.meta.url));

/** A recorded run of a reference model, with the model's weights. */
export function openFixture(name: string) {
  const { config } = JSON.parse(readFileSync(pathOf(`${name}.json`), "utf8"));
  const path = pathOf(`${name}.safetensors`);
  const file = SafetensorsFile.open(path);
  return {
    config,
    path,
    file,
    weights: Weights.open(path).scope("w"),
    numbers: (tensor: string): Numbers => ({ data: file.readFloat32(tensor), dims: file.entry(tensor).shape }),
  };
}

/** The UNet of a fixture. */
export function unetFixture(name: string) {
  const fixture = openFixture(`unet/${name}`);
  return { ...fixture, model: unet(fixture.weights, parseUnetConfig(fixture.config)) };
}

/** The autoencoder of a fixture. */
export function vaeFixture() {
  const fixture = openFixture("vae/vae_a");
  return { ...fixture, model: temporalVae(fixture.weights, parseVaeConfig(fixture.config)) };
}

/** The picture encoder of a fixture. */
export function clipFixture(name: string) {
  const fixture = openFixture(`clip/${name}`);
  const config = parseClipVisionConfig(fixture.config);
  return { ...fixture, clipConfig: config, model: clipVision(fixture.weights, config) };
}
