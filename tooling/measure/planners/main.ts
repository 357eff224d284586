// What planners choose for the shapes that are timed, on every architecture: variant, working memory, launches. Compiles the
// planners, needs no GPU, and writes reports/planners.json, from which `pnpm gen` makes tables. Behind `pnpm report:planners`.
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { plannedCases } from "@vd/bench";
import { dtypeIndex, MAX_RANK, OPS, type OpId } from "@vd/kernels-native";
import type { Row, Tensor } from "@vd/tensor";
import { packageDir } from "../../build/addon/sources.mjs";
import { kernelHash } from "../../build/cubins/sources.mjs";
import { ROOT, runMain } from "../../build/workspace.mjs";
import type { PlannedVariant, PlannersReport } from "./report";

const compiler = process.env.CXX ?? "g++";
const run = promisify(execFile);
const OP_NUMBERS = new Map((Object.keys(OPS) as OpId[]).map((id, index) => [id, index]));

/** A tensor as planners.cc reads it. */
function tensorWords(tensor: Tensor | undefined): number[] {
  if (!tensor) return [0, 0, 0, 0, ...new Array<number>(MAX_RANK).fill(1), 0];
  const sizes = Array.from({ length: MAX_RANK }, (_, i) => tensor.dims[i] ?? 1);
  const constant = Number(tensor.storage.kind === "weights");
  return [1, constant, dtypeIndex(tensor.dtype), tensor.dims.length, ...sizes, tensor.pitch];
}

/** A row as planners.cc reads it. */
function rowLine({ op, attrs, inputs, outputs }: Row): string {
  const tensors = [...inputs, ...outputs];
  return [attrs.length, tensors.length, OP_NUMBERS.get(op)!, ...attrs, ...tensors.flatMap(tensorWords)].join(" ");
}

/** Compiles all planners into one program in a folder. */
async function compile(folder: string): Promise<string> {
  const below = (path: string, ending: string) =>
    readdirSync(join(packageDir, path), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(ending))
      .map((name) => join(packageDir, path, name));
  const waiting = [
    ...below("native/cuda/planning", ".cc"),
    ...below("ops", ".cuda.cc"),
    join(ROOT, "tooling/measure/planners/planners.cc"),
  ];
  const objects: string[] = [];
  const work = async () => {
    for (let source = waiting.pop(); source; source = waiting.pop()) {
      const object = join(folder, `${objects.length}-${basename(source)}.o`);
      objects.push(object);
      await run(compiler, ["-std=c++20", "-c", "-o", object, source]);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  const program = join(folder, "planners");
  await run(compiler, ["-o", program, ...objects]);
  return program;
}

/** Lines of planners.cc for one row, equal choices together. */
function variantsOf(lines: readonly string[]): PlannedVariant[] {
  const variants = new Map<string, PlannedVariant>();
  for (const line of lines) {
    const [, architecture, variant, bytes, launches, numVariants] = line.split("\t") as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    if (variant === "") continue;
    const key = [variant, bytes, launches, numVariants].join(" ");
    const known = variants.get(key);
    if (known) known.architectures.push(architecture);
    else
      variants.set(key, {
        ...{ variant, workspaceBytes: Number(bytes), launches: Number(launches), numVariants: Number(numVariants) },
        architectures: [architecture],
      });
  }
  return [...variants.values()];
}

await runMain("report:planners", async () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-planners-"));
  try {
    const program = await compile(folder);
    const cases = plannedCases("f16");
    const input = cases.map(({ row }) => rowLine(row)).join("\n");
    const text = execFileSync(program, { input: `${input}\n`, encoding: "utf8", maxBuffer: 2 ** 26 });
    const lines = text.trimEnd().split("\n");
    const rows = cases.map(({ name }, i) => ({
      name,
      variants: variantsOf(lines.filter((line) => line.startsWith(`${i}\t`))),
    }));
    const report: PlannersReport = { format: "vd-planners", version: 1, dtype: "f16", kernelHash: kernelHash(), rows };
    writeFileSync(join(ROOT, "reports/planners.json"), `${JSON.stringify(report, null, 1)}\n`);
    console.log(`reports/planners.json: ${rows.length} shapes`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
