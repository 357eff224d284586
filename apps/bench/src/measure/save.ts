import { writeWholeFile } from "@vd/tensor";
import type { BenchFile } from "./report";

/**
 * Writes results whole or not at all.
 *
 * @throws VdError `io`
 */
export async function saveBenchFile(path: string, file: BenchFile): Promise<void> {
  await writeWholeFile(path, `${JSON.stringify(file, null, 1)}\n`);
}
