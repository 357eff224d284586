import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SafetensorsFile, writeSafetensors } from "@vd/tensor";
import { temporaryFolder } from "./temporary-folder";

const FIXTURE = fileURLToPath(new URL("../../../../fixtures/seedvr_vae/seedvr_a", import.meta.url));
const WEIGHTS = "w.";

/** The small causal autoencoder of the goldens. */
export interface CausalFixture {
  config: Record<string, unknown>;
  /** Names of its clips. */
  clips: string[];
  /** An input or a golden, with its shape. */
  tensor(name: string): { shape: readonly number[]; data: Float32Array };
}

/** Reads the goldens of the small causal autoencoder. */
export function causalFixture(): CausalFixture {
  const { config, case: made } = JSON.parse(readFileSync(`${FIXTURE}.json`, "utf8"));
  const file = SafetensorsFile.open(`${FIXTURE}.safetensors`);
  const tensor = (name: string) => ({ shape: file.entry(name).shape, data: file.readFloat32(name) });
  return { config, clips: Object.keys(made.clips), tensor };
}

/** A folder with that autoencoder, removed after the test. */
export function causalModel(): string {
  const folder = temporaryFolder();
  const file = SafetensorsFile.open(`${FIXTURE}.safetensors`);
  const names = [...file.entries.keys()].filter((name) => name.startsWith(WEIGHTS));
  const tensors = names.map((name) => ({
    ...{ name: name.slice(WEIGHTS.length), dtype: "F32" as const, shape: file.entry(name).shape },
    data: file.readFloat32(name),
  }));
  writeSafetensors(join(folder, "model.safetensors"), tensors);
  writeFileSync(join(folder, "config.json"), JSON.stringify(causalFixture().config));
  file.close();
  return folder;
}
