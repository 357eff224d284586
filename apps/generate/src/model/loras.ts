import type { LoraChoice } from "@vd/svd-pipeline";
import { valueError } from "@vd/svd-pipeline/options";
import { fileError, statIfThere } from "@vd/tensor";

/** A number behind the last colon; the colon of a Windows drive has none behind it. */
const WEIGHT = /^(.+):([+-]?(?:\d+\.?\d*|\.\d+))$/;

/**
 * Reads what `--lora` says: `FILE`, `FILE:WEIGHT`, several with commas between them.
 *
 * @throws VdError `attr` for an empty name
 */
export function parseLoras(typed: string | undefined): LoraChoice[] {
  if (typed === undefined) return [];
  return typed.split(",").map((part) => {
    const [, path = part, weight] = WEIGHT.exec(part) ?? [];
    if (path === "") throw valueError("--lora", "FILE or FILE:WEIGHT", typed, "Write it as style.safetensors:0.8");
    return weight === undefined ? { path } : { path, weight: Number(weight) };
  });
}

/** Makes sure that the files are there before a model is loaded. @throws VdError `io`. */
export async function checkLoras(loras: readonly LoraChoice[]): Promise<void> {
  for (const { path } of loras) {
    const missing = Object.assign(new Error("no such file or folder"), { code: "ENOENT" });
    if (!(await statIfThere(path))) throw fileError(path, "a LoRA that can be read", missing, "--lora");
  }
}
