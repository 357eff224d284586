import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { temporaryFolder } from "../support/harness";
import { spawnProgram } from "../support/spawn-program";
import { measureLoad } from "./load";
import { verdictsOf } from "./verdict";

// node --import tsx apps/studio/test/load/main.ts [--seconds 120] [--listeners 500] [--submitters 50] [--workers 2] [--report FILE | --report ""]
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "120" },
    listeners: { type: "string", default: "500" },
    submitters: { type: "string", default: "50" },
    workers: { type: "string", default: "2" },
    report: {
      type: "string",
      default: fileURLToPath(new URL("../../../../reports/cpu/studio-load.json", import.meta.url)),
    },
  },
});
const [seconds, listeners, submitters, workers] = [
  values.seconds,
  values.listeners,
  values.submitters,
  values.workers,
].map(Number) as [number, number, number, number];
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
const machine = { cpu: cpus()[0]!.model, cores: availableParallelism(), hostBytes: totalmem(), node: process.version };
const loadBefore = loadavg()[0];
const { folder, remove } = temporaryFolder();
const words = ["--no-open", "--port", "0", "--data", folder, "--workers", values.workers, "--drain-seconds", "5"];
const server = await spawnProgram(...words);
try {
  const report = await measureLoad({ url: server.line, folder, seconds, listeners, submitters });
  const verdicts = verdictsOf(report, listeners);
  const run = { date: new Date().toISOString().slice(0, 10), commit, seconds, listeners, submitters, workers };
  const whole = { ...run, machine, loadBefore, ...report, verdicts };
  if (values.report !== "") writeFileSync(values.report, `${JSON.stringify(whole, null, 2)}\n`);
  console.log(JSON.stringify(report, null, 2));
  for (const { what, limit, measured, isKept } of verdicts)
    console.log(`${isKept ? "kept    " : "NOT KEPT"}  ${what}: ${measured}; promised ${limit}`);
  if (values.report !== "") console.log(`Written to ${values.report}; pnpm gen puts it into docs/serving.md.`);
  process.exitCode = verdicts.every(({ isKept }) => isKept) ? 0 : 1;
} finally {
  await server.end("SIGTERM");
  remove();
}
