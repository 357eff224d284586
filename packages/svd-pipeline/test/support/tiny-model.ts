import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type ComponentName, StableVideoDiffusionPipeline } from "../../src/index";
import type { GenerateOptions, LoadOptions } from "../../src/types";

/** The small trained model. */
export const TINY_SVD = fileURLToPath(new URL("../../../../models/tiny-svd", import.meta.url));

/** A picture that the model can animate. */
export const PICTURE = join(TINY_SVD, "samples", "one-ball.png");

/** Where each network's weights are. */
export const WEIGHT_FILES: Readonly<Record<ComponentName, string>> = {
  unet: "unet/diffusion_pytorch_model.safetensors",
  vae: "vae/diffusion_pytorch_model.safetensors",
  image_encoder: "image_encoder/model.safetensors",
};

/** A generation of a fraction of a second. */
export const QUICK = {
  image: PICTURE,
  width: 32,
  height: 32,
  numFrames: 3,
  steps: 2,
  seed: 7,
} as const satisfies GenerateOptions;

/** The tiny model, or another one, opened; one thread unless told otherwise: the bits are those of any number, and test files run beside
 *  each other. */
export const openTiny = (options: LoadOptions = {}, model = TINY_SVD): Promise<StableVideoDiffusionPipeline> =>
  StableVideoDiffusionPipeline.fromPretrained(model, { threads: 1, ...options });

/** A new folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "vd-pipeline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A copy of the tiny model without its samples, to be damaged. */
export function copyOfTiny(): string {
  const folder = join(temporaryFolder(), "model");
  cpSync(TINY_SVD, folder, { recursive: true, filter: (path) => !path.endsWith("samples") });
  return folder;
}

/** Changes keys of a JSON file; undefined removes a key. */
export function editJson(path: string, changes: Record<string, unknown>): void {
  const json = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  writeFileSync(path, JSON.stringify({ ...json, ...changes }));
}
