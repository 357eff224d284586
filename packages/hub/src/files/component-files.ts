import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { PATH, requireArgument, VdError } from "@vd/kernels-native";
import { type Pausable, Weights } from "@vd/tensor";
import { FORMAT, selectWeightFiles } from "../client/file-selection";
import { isPickle, pickleHint } from "../client/pickles";
import type { WeightFormat } from "../client/settings";

/** A network's weights, and the files that hold them. */
export interface ComponentWeights {
  weights: Weights;
  paths: string[];
}

/**
 * Opens the weights of one network of a model folder: the files that the Hub client would have chosen for this format, be
 * it one file or an index with shards; any other name that a folder can have comes last. Pauses.
 * @throws VdError `io` or `weights`, `attr` for what is no path and no format.
 */
export function* openComponentWeights(
  dir: string,
  component: string,
  format: WeightFormat,
): Pausable<ComponentWeights> {
  requireArgument("openComponentWeights dir", dir, PATH);
  requireArgument("openComponentWeights component", component, PATH);
  requireArgument("openComponentWeights format", format, FORMAT);
  const folder = join(dir, component);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const chosen = selectWeightFiles(new Set(names.map((name) => `${component}/${name}`)), component, format)?.files;
  const files = (chosen?.map((name) => basename(name)) ?? names).filter((name) => /\.safetensors$/.test(name));
  if (files.length === 0 && !names.some((name) => name.endsWith(".index.json"))) throw noWeights(folder, names);
  const opened = chosen?.[0] === undefined ? folder : join(dir, chosen[0]);
  return { weights: yield* Weights.open.inPieces(opened), paths: files.map((name) => join(folder, name)) };
}

function noWeights(folder: string, names: readonly string[]): VdError {
  const foreign = names.filter((name) => /\.(?:h5|msgpack|onnx)$/.test(name) || isPickle(name));
  return new VdError({
    code: "weights",
    where: folder,
    expected: "weights in .safetensors files",
    got: foreign.length > 0 ? foreign.slice(0, 3).join(", ") : "none",
    hint:
      pickleHint(names) ??
      (foreign.length > 0
        ? "Get the safetensors version of the model."
        : "The model is not complete: download or copy it again."),
  });
}
