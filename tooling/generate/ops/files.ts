import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { OpCases } from "../../../packages/kernels-native/contract/define-case";
import type { OpDefinition } from "../../../packages/kernels-native/contract/op-kit";
import { ROOT } from "../../build/workspace.mjs";
import type { PlannersReport } from "../../measure/planners/report";
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
import { opsReports } from "./measured";
import { opPage, opsListPage } from "./pages";
import { graphOps, opsCases, opsIndex, opsReferences } from "./typescript";

const kernels = join(ROOT, "packages/kernels-native");

/** The default export of an op's file; ids: of the ops. */
async function loadAll<T>(ids: readonly string[], ending: string): Promise<T[]> {
  const modules = await Promise.all(
    ids.map((id) => import(pathToFileURL(join(kernels, `ops/${id}/${id}.${ending}`)).href)),
  );
  return modules.map((module) => (module.default?.default ?? module.default) as T);
}

async function loadOps(): Promise<OpDefinition[]> {
  const ids = readdirSync(join(kernels, "ops"))
    .filter((name) => !name.includes("."))
    .sort();
  const ops = await loadAll<OpDefinition>(ids, "op.ts");
  ops.forEach((definition, i) => {
    if (definition.id !== ids[i]) throw new Error(`ops/${ids[i]}: the id inside is ${definition.id}`);
  });
  return ops;
}

/** The page of every op, by path. */
async function pages(ops: readonly OpDefinition[]): Promise<GeneratedFile[]> {
  const reports = opsReports();
  const planners = JSON.parse(readFileSync(join(ROOT, "reports/planners.json"), "utf8")) as PlannersReport;
  const cases = await loadAll<OpCases>(
    ops.map(({ id }) => id),
    "cases.ts",
  );
  return ops.map((op, i) => [join(ROOT, `docs/ops/${op.id}.md`), opPage({ op, cases: cases[i]!, reports, planners })]);
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
    [join(ROOT, "docs/ops.md"), opsListPage(ops)],
    ...(await pages(ops)),
  ];
}
