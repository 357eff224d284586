import { join } from "node:path";
import { tsImport } from "tsx/esm/api";
import { ROOT } from "../../build/workspace.mjs";
import type { GeneratedFile } from "../generated-file";

// The tables import packages by name; with these paths names mean sources, and nothing needs to be built.
const tsconfig = join(ROOT, "tsconfig.json");

/** Returns every file that follows from the option tables. */
export async function files(): Promise<GeneratedFile[]> {
  const module: typeof import("./from-tables") = await tsImport("./from-tables.ts", {
    parentURL: import.meta.url,
    tsconfig,
  });
  return module.filesOf(ROOT);
}
