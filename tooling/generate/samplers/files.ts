import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import type { GeneratedFile } from "../generated-file";

const sampling = join(ROOT, "packages/sampling/src");

/** Returns the name that a sampler's file exports: `dpm-solver` has `dpmSolver`. */
const exportOf = (file: string) => file.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** The list of the folder's samplers. files: names without `.ts`, in order. */
function samplersList(files: readonly string[]): string {
  return `// Generated from samplers/*.ts by tooling/generate/samplers. Do not edit.
import type { SamplerDefinition } from "./definition";
${files.map((file) => `import { ${exportOf(file)} } from "./samplers/${file}";`).join("\n")}

/** What the files of samplers/ export, in the order of their names. */
export const SAMPLERS: readonly SamplerDefinition[] = [
${files.map((file) => `  ${exportOf(file)},`).join("\n")}
];
`;
}

/** Returns the list of every sampler of `packages/sampling/src/samplers`. */
export function files(): GeneratedFile[] {
  const names = readdirSync(join(sampling, "samplers")).map((name) => basename(name, ".ts"));
  return [[join(sampling, "samplers.generated.ts"), samplersList(names.sort())]];
}
