import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { OpId } from "@vd/kernels-native";
import type { OpCases } from "@vd/kernels-native/contract";

const folder = new URL("../../../kernels-native/ops/", import.meta.url);

/** The cases of every op that has a folder, by id. */
export async function loadCases(): Promise<{ id: OpId; cases: OpCases }[]> {
  const ids = readdirSync(folder).filter((name) => !name.includes(".")) as OpId[];
  const modules = ids.map((id) => import(fileURLToPath(new URL(`${id}/${id}.cases.ts`, folder))));
  return (await Promise.all(modules)).map((module, i) => ({ id: ids[i]!, cases: module.default as OpCases }));
}
