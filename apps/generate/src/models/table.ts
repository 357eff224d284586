import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CachedModel } from "@vd/hub";
import { BUNDLED_NAME, bundledModelFolder } from "../model/bundled";
import { formatBytes } from "../report/units";

/** A model, and what it takes on the disk. */
export type ModelRow = Pick<CachedModel, "repo" | "bytes" | "isComplete">;

/** Returns the bundled model as a row. */
export async function bundledRow(): Promise<ModelRow> {
  const folder = bundledModelFolder();
  const names = await readdir(folder, { recursive: true });
  const found = await Promise.all(names.map((name) => stat(join(folder, name))));
  const bytes = found.reduce((sum, each) => sum + (each.isFile() ? each.size : 0), 0);
  return { repo: BUNDLED_NAME, bytes, isComplete: true };
}

/** Returns models as an aligned table: name, size, state. */
export function modelTable(rows: readonly ModelRow[]): string {
  const width = Math.max(...rows.map(({ repo }) => repo.length));
  const line = ({ repo, bytes, isComplete }: ModelRow) =>
    `${repo.padEnd(width)}  ${formatBytes(bytes).padStart(8)}  ${isComplete ? "ready" : "not whole, or of another kind"}\n`;
  return rows.map(line).join("");
}
