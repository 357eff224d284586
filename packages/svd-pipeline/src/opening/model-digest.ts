import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { runInSlices, SafetensorsFile } from "@vd/tensor";
import type { ModelComponents } from "./components";

/** Bytes of each tensor of a model that are looked at: reading gigabytes would take as long as a step. */
const SAMPLE_BYTES = 512;

/** A checksum of names, types and sizes of all tensors of a file, and of some bytes in the middle of each. */
async function weightsDigest(path: string): Promise<string> {
  const hash = createHash("sha256");
  using file = await runInSlices(SafetensorsFile.open.inPieces(path));
  const handle = await open(path, "r");
  try {
    for (const { name, dtype, shape, byteOffset, byteLength } of file.entries.values()) {
      const length = Math.min(SAMPLE_BYTES, byteLength);
      const sample = new Uint8Array(length);
      await handle.read(sample, 0, length, byteOffset + Math.floor((byteLength - length) / 2));
      hash.update(JSON.stringify([name, dtype, shape])).update(sample);
    }
  } finally {
    await handle.close();
  }
  return hash.digest("hex");
}

const modelDigests = new WeakMap<ModelComponents, Promise<string>>();

async function findModelDigest({ unet, vae, imageEncoder, ...rest }: ModelComponents): Promise<string> {
  const configs = [unet.config, vae.config, imageEncoder.config, rest.scheduler, rest.clipPixels];
  const weights: string[] = [];
  for (const { path } of rest.files) weights.push(await weightsDigest(path));
  return createHash("sha256")
    .update(JSON.stringify([configs, weights]))
    .digest("hex");
}

/** Returns a checksum of a model: of its configurations, and of a sample of every tensor. LoRAs do not count. */
export function modelDigest(components: ModelComponents): Promise<string> {
  const known = modelDigests.get(components) ?? findModelDigest(components);
  modelDigests.set(components, known);
  return known;
}
