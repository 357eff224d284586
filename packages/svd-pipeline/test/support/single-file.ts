import { join } from "node:path";
import { type SafetensorsDtype, SafetensorsFile, writeSafetensors } from "@vd/tensor";
import { COMPONENT_NAMES, diffusersToOriginal, exportBytes } from "../../src/index";
import { TINY_SVD, WEIGHT_FILES } from "./tiny-model";

/** What the tiny model's weights do not tell. */
export const SINGLE_FILE = { scalingFactor: 0.3237, numFrames: 14 };

/** Writes the tiny model into one file with the original names; `rename` may change a name or leave it out. */
export function writeSingleFile(path: string, rename: (name: string) => string | undefined = (name) => name): void {
  const files = new Map(
    COMPONENT_NAMES.map((name) => [name, SafetensorsFile.open(join(TINY_SVD, WEIGHT_FILES[name]))] as const),
  );
  const exported = diffusersToOriginal(new Map([...files].map(([name, file]) => [name, file.entries.values()])));
  const tensors = [...exported].flatMap(([original, source]) => {
    const name = rename(original);
    if (name === undefined) return [];
    const data = () => exportBytes(source, (part) => files.get(source.component)!.readBytes(part));
    return [{ name, dtype: source.dtype as SafetensorsDtype, shape: source.shape, data }];
  });
  writeSafetensors(path, tensors);
  for (const file of files.values()) file.close();
}
