import { parseHubModelName } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { fileError, statIfThere } from "@vd/tensor";
import { BUNDLED_NAME, bundledModelFolder } from "./bundled";

/** Where a model comes from. */
export interface ModelSource {
  kind: "folder" | "hub" | "file";
  /** Folder, hub id or file. */
  name: string;
  /** As people know it. */
  title: string;
}

/**
 * Finds out whether `--model` names a folder, a single file or a model of the Hub; what is on the disk comes first.
 * @throws VdError `io` when it can be none of the three.
 */
export async function modelSource(model: string | undefined): Promise<ModelSource> {
  if (model === undefined) return { kind: "folder", name: bundledModelFolder(), title: BUNDLED_NAME };
  const found = await statIfThere(model).catch((error: unknown) => {
    throw fileError(model, "a model that can be read", error, "--model");
  });
  if (found?.isDirectory()) return { kind: "folder", name: model, title: model };
  if (found && !model.endsWith(".safetensors")) {
    const expected = "a folder, a hub id or a file that ends in .safetensors";
    throw sourceError(expected, model, "Convert other weights to safetensors first");
  }
  if (found) return { kind: "file", name: model, title: model };
  const hub = model.endsWith(".safetensors") ? undefined : parseHubModelName(model);
  if (hub) return { kind: "hub", name: model, title: hub.revision ? `${hub.repo}@${hub.revision}` : hub.repo };
  const expected = "a model folder, a .safetensors file or a hub id (owner/name)";
  throw sourceError(expected, model, hintFor(model));
}

function hintFor(model: string): string {
  if (!/^(https?|hf):/i.test(model)) return "There is no such file or folder; a hub id has one slash, as in owner/name";
  return "Of addresses those of a model's page will do, as in https://huggingface.co/owner/name; download a single file and name it here";
}

function sourceError(expected: string, model: string, hint: string): VdError {
  return new VdError({ code: "io", where: "--model", expected, got: `"${model}"`, hint });
}
