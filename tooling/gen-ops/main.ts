/** Writes everything that follows from the op contract, and the list of samplers. `--check` writes nothing and fails if a file is not fresh. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { OpDefinition } from "../../packages/kernels-native/contract/op-kit";
import { dtypeHeader, errorCodesHeader, opArgsHeader, opPlannersHeader, opsTable } from "./cpp";
import { samplersIndex } from "./samplers";
import { graphOps, opsCases, opsIndex, opsPage } from "./typescript";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const kernels = join(root, "packages/kernels-native");
const sampling = join(root, "packages/sampling/src");

async function loadOps(): Promise<OpDefinition[]> {
  const ids = readdirSync(join(kernels, "ops"))
    .filter((name) => !name.includes("."))
    .sort();
  const modules = await Promise.all(
    ids.map((id) => import(pathToFileURL(join(kernels, `ops/${id}/${id}.op.ts`)).href)),
  );
  return modules.map((module, i) => {
    const definition = (module.default?.default ?? module.default) as OpDefinition;
    if (definition.id !== ids[i]) throw new Error(`ops/${ids[i]}: the id inside is ${definition.id}`);
    return definition;
  });
}

function emit(path: string, text: string, check: boolean): boolean {
  let current: string | undefined;
  try {
    current = readFileSync(path, "utf8");
  } catch {
    current = undefined;
  }
  if (current === text) return true;
  if (!check) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return !check;
}

const ops = await loadOps();
const samplerFiles = readdirSync(join(sampling, "samplers"))
  .map((name) => basename(name, ".ts"))
  .sort();
const files: [string, string][] = [
  [join(kernels, "contract/ops.generated.ts"), opsIndex(ops.map((op) => op.id))],
  [join(kernels, "ops/cases.generated.ts"), opsCases(ops.map((op) => op.id))],
  [join(kernels, "native/generated/dtype.h"), dtypeHeader()],
  [join(kernels, "native/generated/error_codes.h"), errorCodesHeader()],
  [join(kernels, "native/generated/op_args.h"), opArgsHeader(ops)],
  [join(kernels, "native/generated/op_planners.h"), opPlannersHeader(ops.map((op) => op.id))],
  [join(kernels, "native/generated/ops_table.inc"), opsTable(ops)],
  [join(root, "packages/tensor/src/graph-ops.generated.ts"), graphOps(ops)],
  [join(root, "docs/ops.md"), opsPage(ops)],
  [join(sampling, "samplers.generated.ts"), samplersIndex(samplerFiles)],
];
const check = process.argv.includes("--check");
const stale = files.filter(([path, text]) => !emit(path, text, check)).map(([path]) => path);
if (stale.length > 0) {
  console.error(`Not fresh, run \`pnpm gen\`:\n${stale.join("\n")}`);
  process.exitCode = 1;
} else {
  console.log(`${files.length} generated files are fresh (${ops.length} ops).`);
}
