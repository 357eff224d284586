// The conformance suite under compute-sanitizer, which comes with the CUDA toolkit: memcheck (addresses, alignment, leaks of
// the driver's calls) and racecheck (shared memory), every kernel that could run a case, small cases. As many processes at a
// time as there are cores. --json FILE writes what each tool found.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { about } from "./about";

const { values: options } = parseArgs({
  options: {
    tool: { type: "string", multiple: true, default: ["memcheck", "racecheck"] },
    program: { type: "string", default: "compute-sanitizer" },
    processes: { type: "string", default: String(Math.max(1, availableParallelism() - 2)) },
    // Largest operand of a case, in elements; default: MOST_ELEMENTS of the tool.
    most: { type: "string" },
    image: { type: "string" },
    op: { type: "string" },
    // Stops a process that takes longer, in seconds; what it had checked by then counts.
    limit: { type: "string", default: "240" },
    json: { type: "string" },
  },
});
/** What a tool goes through in about a minute: racecheck follows every access to shared memory. */
const MOST_ELEMENTS: Readonly<Record<string, number>> = { racecheck: 6_000 };
const mostElementsOf = (tool: string) => Number(options.most ?? MOST_ELEMENTS[tool] ?? 30_000);

const suite = join(dirname(fileURLToPath(import.meta.url)), "suite.mjs");

/** What one process printed. */
interface ShardResult {
  cases: number;
  errors: number;
  isComplete: boolean;
  text: string;
}

/** Runs a shard of the suite under a tool. */
function runShard(tool: string, shard: string): Promise<ShardResult> {
  const passOn = [...(options.image ? ["--image", options.image] : []), ...(options.op ? ["--op", options.op] : [])];
  const words = ["--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9", process.execPath, suite];
  const child = spawn(options.program, [
    ...words,
    "--all",
    "--shard",
    shard,
    "--most",
    String(mostElementsOf(tool)),
    ...passOn,
  ]);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (text += part));
  const timer = setTimeout(() => child.kill("SIGKILL"), 1000 * Number(options.limit));
  return new Promise((done, fail) => {
    child.on("error", () => fail(new Error(`[sanitize] expected ${options.program} of the CUDA toolkit on the PATH`)));
    child.on("close", (status) => {
      clearTimeout(timer);
      const summary = /ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard/.exec(text);
      const counted = /suite: (\d+) passed, (\d+) failed/.exec(text);
      const found = Number(summary?.[1] ?? summary?.[2] ?? 0) + Number(counted?.[2] ?? 0);
      const isComplete = status === 0 && summary !== null && counted !== null;
      done({ cases: Number(counted?.[1] ?? 0) + Number(counted?.[2] ?? 0), errors: found, isComplete, text });
    });
  });
}

const results = [];
for (const tool of options.tool) {
  const startMs = performance.now();
  const count = Number(options.processes);
  const shards = await Promise.all(Array.from({ length: count }, (_, i) => runShard(tool, `${i + 1}/${count}`)));
  const seconds = Math.round((performance.now() - startMs) / 1000);
  const sum = (of: (shard: ShardResult) => number) => shards.reduce((total, shard) => total + of(shard), 0);
  const [cases, errors, stopped] = [sum((s) => s.cases), sum((s) => s.errors), sum((s) => Number(!s.isComplete))];
  for (const { text, isComplete } of shards) if (!isComplete) console.log(text.slice(-1500));
  console.log(`${tool}: ${cases} cases, ${errors} errors, ${stopped} of ${count} processes incomplete, ${seconds} s`);
  const { kernelHash } = about();
  const mostElements = mostElementsOf(tool);
  results.push({ tool, cases, errors, incomplete: stopped, mostElements, seconds, kernelHash });
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 1)}\n`);
process.exitCode = results.some(({ errors, incomplete }) => errors + incomplete > 0) ? 1 : 0;
