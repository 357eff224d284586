import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { OpDefinition } from "../../../packages/kernels-native/contract/op-kit";
import { ROOT } from "../../build/workspace.mjs";
import type { GeneratedFile } from "../generated-file";
import {
  cpuFastPathsHeader,
  dtypeHeader,
  errorCodesHeader,
  limitsHeader,
  opArgsHeader,
  opPlannersHeader,
  opsTable,
} from "./cpp";
import { graphOps, opsCases, opsIndex, opsPage, opsReferences } from "./typescript";

const kernels = join(ROOT, "packages/kernels-native");

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

/** Returns every file that follows from the op contract. */
export async function files(): Promise<GeneratedFile[]> {
  const ops = await loadOps();
  const ids = ops.map((op) => op.id);
  const fastIds = ids.filter((id) => existsSync(join(kernels, `ops/${id}/cpu/${id}_fast.cc`)));
  return [
    [join(kernels, "contract/ops.generated.ts"), opsIndex(ids, fastIds)],
    [join(kernels, "ops/cases.generated.ts"), opsCases(ids)],
    [join(kernels, "ops/references.generated.ts"), opsReferences(ids)],
    [join(kernels, "native/generated/dtype.h"), dtypeHeader()],
    [join(kernels, "native/generated/error_codes.h"), errorCodesHeader()],
    [join(kernels, "native/generated/limits.h"), limitsHeader()],
    [join(kernels, "native/generated/cpu_fast_paths.h"), cpuFastPathsHeader(fastIds)],
    [join(kernels, "native/generated/op_args.h"), opArgsHeader(ops)],
    [join(kernels, "native/generated/op_planners.h"), opPlannersHeader(ids)],
    [join(kernels, "native/generated/ops_table.inc"), opsTable(ops)],
    [join(ROOT, "packages/tensor/src/graph-ops.generated.ts"), graphOps(ops)],
    [join(ROOT, "docs/ops.md"), opsPage(ops)],
  ];
}
