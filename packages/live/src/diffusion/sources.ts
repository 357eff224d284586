import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

/** True for a checkpoint in one file, and for a folder of diffusers' layout, which a model with live.json is not. */
export function isDiffusionModel(source: string): boolean {
  if (!existsSync(source)) return false;
  if (statSync(source).isFile()) return true;
  return existsSync(join(source, "model_index.json")) && !existsSync(join(source, "live.json"));
}
