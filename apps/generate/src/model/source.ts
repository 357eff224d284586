import { VdError } from "@vd/kernels-native";
import { fileError, statIfThere } from "@vd/tensor";
import { bundledModelFolder } from "./bundled";

/** Where a model comes from. */
export interface ModelSource {
  kind: "folder" | "hub" | "file";
  /** Folder, hub id or file. */
  name: string;
}

/** `owner/name` or `owner/name@revision` as hubs write it; the hub client checks the finer rules. */
const HUB_ID = /^\w[\w.-]*\/\w[\w.-]*(@.+)?$/;

/**
 * Finds out whether `--model` names a folder, a single file or a hub id; what is on the disk comes first.
 * @throws VdError `io` when it can be none of the three.
 */
export async function modelSource(model: string | undefined): Promise<ModelSource> {
  if (model === undefined) return { kind: "folder", name: bundledModelFolder() };
  const found = await statIfThere(model).catch((error: unknown) => {
    throw fileError(model, "a model that can be read", error, "--model");
  });
  if (found?.isDirectory()) return { kind: "folder", name: model };
  if (found && !model.endsWith(".safetensors")) {
    const expected = "a folder, a hub id or a file that ends in .safetensors";
    throw sourceError(expected, model, "Convert other weights to safetensors first");
  }
  if (found) return { kind: "file", name: model };
  if (!model.endsWith(".safetensors") && HUB_ID.test(model)) return { kind: "hub", name: model };
  const expected = "a model folder, a .safetensors file or a hub id (owner/name)";
  throw sourceError(expected, model, "There is no such file or folder; a hub id has one slash, as in owner/name");
}

function sourceError(expected: string, model: string, hint: string): VdError {
  return new VdError({ code: "io", where: "--model", expected, got: `"${model}"`, hint });
}
