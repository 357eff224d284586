import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseClipVisionConfig, parseUnetConfig } from "@vd/svd-pipeline";
import { SafetensorsFile } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import { describe, expect, it } from "vitest";
import { clipTensors } from "../../src/synth/clip-tensors";
import { modelConfigs } from "../../src/synth/configs";
import { syntheticFiles } from "../../src/synth/make-model";
import type { SyntheticTensor } from "../../src/synth/tensors";
import { unetTensors } from "../../src/synth/unet-tensors";
import { vaeTensors } from "../../src/synth/vae-tensors";
import { TINY_SVD } from "../support/harness";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;

/** Names and shapes of a file's tensors below a prefix, sorted. */
function stored(path: string, prefix = ""): string[] {
  using file = SafetensorsFile.open(path);
  return [...file.entries.values()]
    .filter(({ name }) => name.startsWith(prefix))
    .map(({ name, shape }) => `${name.slice(prefix.length)} ${shape.join("x")}`)
    .sort();
}

const made = (tensors: readonly SyntheticTensor[]) =>
  tensors.map(({ name, shape }) => `${name} ${shape.join("x")}`).sort();

describe("names and shapes by configuration", () => {
  it.each(["unet_a", "unet_b"])("are those of the committed %s", (name) => {
    const { config } = readJson(`${root}fixtures/unet/${name}.json`) as { config: Record<string, unknown> };
    expect(made(unetTensors(parseUnetConfig(config)))).toEqual(
      stored(`${root}fixtures/unet/${name}.safetensors`, "w."),
    );
  });

  it("are those of the committed autoencoder", () => {
    const { config } = readJson(`${root}fixtures/vae/vae_a.json`) as { config: Record<string, unknown> };
    expect(made(vaeTensors(parseVaeConfig(config)))).toEqual(stored(`${root}fixtures/vae/vae_a.safetensors`, "w."));
  });

  it.each(["clip_gelu", "clip_quick"])("are those of the committed %s", (name) => {
    const { config } = readJson(`${root}fixtures/clip/${name}.json`) as { config: Record<string, unknown> };
    const file = `${root}fixtures/clip/${name}.safetensors`;
    expect(made(clipTensors(parseClipVisionConfig(config)))).toEqual(stored(file, "w."));
  });

  it("are those of the small model, from its own configurations and from the preset", () => {
    const files = ["unet/diffusion_pytorch_model", "vae/diffusion_pytorch_model", "image_encoder/model"];
    const preset = syntheticFiles(modelConfigs("tiny"));
    expect(preset.map(({ path }) => path)).toEqual(files.map((file) => `${file}.fp16.safetensors`));
    files.forEach((file, i) => {
      expect(made(preset[i]!.tensors)).toEqual(stored(`${TINY_SVD}/${file}.safetensors`));
    });
    expect(made(unetTensors(parseUnetConfig(readJson(`${TINY_SVD}/unet/config.json`))))).toEqual(
      made(preset[0]!.tensors),
    );
  });

  it("add up to the published sizes of SVD and SVD-XT", () => {
    for (const preset of ["svd", "svd-xt"] as const) {
      const counts = syntheticFiles(modelConfigs(preset)).map(({ tensors }) =>
        tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0),
      );
      expect(counts).toEqual([1_524_623_082, 97_742_847, 632_076_800]);
    }
    expect(modelConfigs("svd")["unet/config.json"].num_frames).toBe(14);
    expect(modelConfigs("svd-xt")["unet/config.json"].num_frames).toBe(25);
  });
});
