import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { OPS, type OpId } from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import { CPU_FAST_PATHS, type OpCases } from "@vd/kernels-native/contract";
import { packageDir } from "../build/addon/sources.mjs";

const COLUMNS = ["op", "CPU", "GPU", "cases", "shapes"];

/** How many files of device code an op has. */
function numDeviceSources(id: OpId): number {
  const folder = join(packageDir, "ops", id);
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".cu")).length : 0;
}

/** Prints every op: its path on the CPU, files of device code, cases for correctness, shapes to time. */
export async function listOps(): Promise<number> {
  const rows = (Object.keys(OPS) as OpId[]).map((id) => {
    const { correctness, bench }: OpCases = OP_CASES[id];
    const cpu = CPU_FAST_PATHS.includes(id) ? "fast path" : "definition";
    return [id, cpu, `${numDeviceSources(id)} files`, `${correctness.length}`, `${bench.length}`];
  });
  const widths = COLUMNS.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  for (const row of [COLUMNS, ...rows])
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    );
  return 0;
}
