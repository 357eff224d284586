import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../build/workspace.mjs";
import type { GeneratedFile } from "../generated-file";

const sampling = join(ROOT, "packages/sampling/src");

/** Returns the name that a sampler's file exports: `dpm-solver` has `dpmSolver`. */
const exportOf = (file: string) => file.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** What a sampler is called: its own name and that of diffusers' class. */
interface Names {
  name: string;
  className: string;
}

async function namesIn(file: string): Promise<Names> {
  const module: Record<string, Names> = await import(pathToFileURL(join(sampling, "samplers", `${file}.ts`)).href);
  return module[exportOf(file)]!;
}

/** Words as the members of a union, one a line. */
const union = (words: readonly string[]) => words.map((word) => `\n  | "${word}"`).join("");

/** The list of the folder's samplers and their names as types. files: names without `.ts`, in order. */
function samplersList(files: readonly string[], names: readonly Names[]): string {
  return `// Generated from samplers/*.ts by tooling/generate/samplers. Do not edit.
import type { SamplerDefinition } from "./definition";
${files.map((file) => `import { ${exportOf(file)} } from "./samplers/${file}";`).join("\n")}

/** What the files of samplers/ export, in the order of their names. */
export const SAMPLERS: readonly SamplerDefinition[] = [
${files.map((file) => `  ${exportOf(file)},`).join("\n")}
];

/** The short name of a sampler. */
export type SamplerName =${union(names.map(({ name }) => name))};

/** The name of a diffusers class that a sampler follows. */
export type SchedulerClassName =${union([...new Set(names.map(({ className }) => className))])};
`;
}

/** Returns the list of every sampler of `packages/sampling/src/samplers`. */
export async function files(): Promise<GeneratedFile[]> {
  const found = readdirSync(join(sampling, "samplers")).map((name) => basename(name, ".ts"));
  const samplers = found.sort();
  const names = await Promise.all(samplers.map(namesIn));
  return [[join(sampling, "samplers.generated.ts"), samplersList(samplers, names)]];
}
