import { readFile } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";
import type { BenchFile } from "../measure/report";

const wanted = "results of vd-bench as JSON";

function fail(path: string, got: string, hint: string, cause?: unknown): never {
  throw new VdError({ code: "io", where: path, expected: wanted, got, hint, cause });
}

/** Reads results. Throws VdError `io` for what cannot be read or is none. */
export async function readBenchFile(path: string): Promise<BenchFile> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) =>
    fail(path, cause.code === "ENOENT" ? "no such file" : cause.message, "Check the path.", cause),
  );
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    fail(path, `no JSON (${(cause as Error).message})`, "Name a file that vd-bench wrote with --json or -o.", cause);
  }
  const { format, version, rows, machine } = (json ?? {}) as Partial<BenchFile>;
  if (format !== "vd-bench" || !Array.isArray(rows) || typeof machine?.device !== "string")
    fail(path, "JSON of another kind", "Name a file that vd-bench wrote with --json or -o.");
  if (version !== 1) fail(path, `format version ${version}`, "Make it again with this version of vd-bench.");
  return json as BenchFile;
}
