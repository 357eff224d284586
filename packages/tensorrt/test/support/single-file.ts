import { join } from "node:path";
import { COMPONENT_NAMES, diffusersToOriginal, exportBytes } from "@vd/svd-pipeline";
import { openCheckpoint, type SafetensorsDtype, writeSafetensors } from "@vd/tensor";
import { TINY } from "./fixtures";

/** Writes the tiny model into one file with the original names. */
export function writeSingleFile(path: string): void {
  const opened = new Map(COMPONENT_NAMES.map((name) => [name, openCheckpoint(join(TINY, name))] as const));
  const entries = new Map(
    [...opened].map(([name, { entries }]) => [name, [...entries.values()].map(({ entry }) => entry)] as const),
  );
  const tensors = [...diffusersToOriginal(entries)].map(([name, source]) => ({
    name,
    dtype: source.dtype as SafetensorsDtype,
    shape: source.shape,
    data: () => {
      const { files } = opened.get(source.component)!;
      return exportBytes(source, (part) => files[0]!.readBytes(part));
    },
  }));
  writeSafetensors(path, tensors);
  for (const checkpoint of opened.values()) checkpoint.close();
}
