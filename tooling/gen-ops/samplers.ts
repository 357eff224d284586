import { camel } from "./names";

/** The name that a sampler's file exports: `dpm-solver.ts` has `dpmSolver`. */
const exportOf = (file: string) => camel(file.replaceAll("-", "_"));

/** `sampling/src/samplers.generated.ts`: every sampler of the folder. files: names without `.ts`, in order. */
export function samplersIndex(files: readonly string[]): string {
  return `// Generated from samplers/*.ts by tooling/gen-ops. Do not edit.
import type { SamplerDefinition } from "./definition";
${files.map((file) => `import { ${exportOf(file)} } from "./samplers/${file}";`).join("\n")}

/** What the files of samplers/ export, in the order of their names. */
export const SAMPLERS: readonly SamplerDefinition[] = [
${files.map((file) => `  ${exportOf(file)},`).join("\n")}
];
`;
}
