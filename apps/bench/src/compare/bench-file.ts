import { readFile } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";
import type { BenchFile, BenchRow } from "../measure/report";

const wanted = "results of vd-bench as JSON";

function fail(path: string, got: string, hint: string, cause?: unknown): never {
  throw new VdError({ code: "io", where: path, expected: wanted, got, hint, cause });
}

const REMAKE = "Name a file that vd-bench wrote with --json or -o.";
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
/** Infinity and NaN, as an error of something all zero, are null in JSON. */
const isFigure = (value: unknown) => value === undefined || value === null || isNumber(value);

/** Figures of a row. */
const FIGURES = [
  ...["medianUs", "madUs", "flops", "bytes", "error", "float64Error", "unroundedError", "float64Elements"],
  ...["peakBytes", "firstUs", "loadUs", "launches"],
];

/** What is wrong with a row, if anything. */
function rowProblem(row: unknown): string | undefined {
  if (!isObject(row)) return "no object";
  const text = ["suite", "name", "contender"].find((name) => typeof row[name] !== "string");
  if (text !== undefined) return `no ${text}`;
  const figure = FIGURES.find((name) => !isFigure(row[name]));
  if (figure !== undefined) return `${figure} ${JSON.stringify(row[figure])}`;
  const { samplesUs = [] } = row;
  if (!Array.isArray(samplesUs) || !samplesUs.every(isNumber)) return "samplesUs that are no numbers";
  return undefined;
}

/** A file that was cut or edited by hand must not pass for results. */
function checkWhole(path: string, file: Readonly<Record<string, unknown>>): void {
  const part = ["machine", "versions", "options", "tables"].find((name) => !isObject(file[name]));
  if (part !== undefined) fail(path, `results without ${part}`, REMAKE);
  if (typeof file.command !== "string" || typeof file.createdAt !== "string" || !Array.isArray(file.notes))
    fail(path, "results without command, createdAt or notes", REMAKE);
  for (const [i, row] of (file.rows as unknown[]).entries()) {
    const problem = rowProblem(row);
    if (problem !== undefined) fail(path, `row ${i} with ${problem}`, REMAKE);
  }
}

/** null, which stands for no finite number, as no figure at all. */
function withoutNulls(file: BenchFile): BenchFile {
  const rows = file.rows.map(
    (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as BenchRow,
  );
  return { ...file, rows };
}

/**
 * Reads results.
 *
 * @throws VdError `io` for what cannot be read or is none
 */
export async function readBenchFile(path: string): Promise<BenchFile> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) =>
    fail(path, cause.code === "ENOENT" ? "no such file" : cause.message, "Check the path.", cause),
  );
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    fail(path, `no JSON (${(cause as Error).message})`, REMAKE, cause);
  }
  const { format, version, rows, machine } = (json ?? {}) as Partial<BenchFile>;
  if (format !== "vd-bench" || !Array.isArray(rows) || typeof machine?.device !== "string")
    fail(path, "JSON of another kind", REMAKE);
  if (version !== 1) fail(path, `format version ${version}`, "Make it again with this version of vd-bench.");
  checkWhole(path, json as Record<string, unknown>);
  return withoutNulls(json as BenchFile);
}
