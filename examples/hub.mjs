// @vd/hub alone, without a network: which files of a model to download, a network's weights from a folder, and a
// checkpoint's tensors under other names. resolveModel("org/name") downloads a model into the cache of Python's tools.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { layerPairs, openComponentWeights, resolveModel, selectWeightFiles, sourcesOfPairs } from "@vd/hub";
import { runInSlices, SafetensorsFile, writeSafetensors } from "@vd/tensor";

// What a repository has, and what is needed of it in half precision.
const names = ["diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.fp16.safetensors"];
const listed = new Set(names.map((name) => `unet/${name}`));
console.log("to download:", ...selectWeightFiles(listed, "unet", "fp16").files);

// A model folder, as small as one can be.
const folder = mkdtempSync(join(tmpdir(), "vd-example-"));
mkdirSync(join(folder, "unet"));
const tensor = (name, shape) => ({ name, dtype: "F32", shape, data: new Float32Array(shape.reduce((a, b) => a * b)) });
writeSafetensors(join(folder, "unet", names[0]), [tensor("conv_in.weight", [8, 4]), tensor("conv_in.bias", [8])]);
writeSafetensors(join(folder, "checkpoint.safetensors"), [
  tensor("model.input.weight", [8, 4]),
  tensor("model.input.bias", [8]),
]);

const { dir } = await resolveModel(folder);
const { weights, paths } = await runInSlices(openComponentWeights(dir, "unet", "fp32"));
const { dtype } = weights.tensor("conv_in.weight", [8, 4]); // refused if the file has another shape
console.log("weights of", paths.length, "file:", dtype);

// The same tensors in a checkpoint that names them otherwise: nothing is copied, only places are found.
const file = SafetensorsFile.open(join(folder, "checkpoint.safetensors"));
const pairs = layerPairs("model", "", [["input", "conv_in"]]);
const { sources, missing, unknown } = sourcesOfPairs(pairs, file.entries);
console.log([...sources].map(([name, source]) => `${name} is ${source.name}`).join(", "));
console.log("missing:", missing.length, "unknown:", unknown.length);
file.close();
rmSync(folder, { recursive: true });
