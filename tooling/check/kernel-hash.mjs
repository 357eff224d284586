// Prints the hash of the kernel sources, and warns about GPU reports that were made with others.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kernelHash } from "../build/cubins/sources.mjs";

const reports = join(dirname(fileURLToPath(import.meta.url)), "../../reports/gpu");
/** The history keeps measurements of all kernels there were. */
const isReport = (file) => file.endsWith(".json") && file !== "history.json";
const hash = kernelHash();
console.log(hash);
for (const name of existsSync(reports) ? readdirSync(reports).filter(isReport) : []) {
  // The sanitizers' report has an entry for each tool, with a hash of its own.
  const written = JSON.parse(readFileSync(join(reports, name), "utf8"));
  for (const report of Array.isArray(written) ? written : [written]) {
    // vd-bench writes the hash behind the commit.
    const measured = report.kernelHash ?? /kernels (\w+)/.exec(report.machine?.commit ?? "")?.[1];
    const device = report.device ?? report.machine?.device;
    if (measured === hash) continue;
    console.warn(
      `::warning file=reports/gpu/${name}::measured${device ? ` on ${device}` : ""} with other kernel sources (${String(measured).slice(0, 8)}) than today's (${hash.slice(0, 8)}): run the GPU suite again.`,
    );
  }
}
