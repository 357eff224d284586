// The conformance suite on a device without a test runner: every case of every op against its definition in float64, in
// float32 and, recast, in both 16-bit types. Prints a line per failure and a summary; --json FILE writes the results.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type ConformanceCheck, runConformance } from "@vd/conformance";
import { type CpuMath, type OpId, openDevice } from "@vd/kernels-native";
import { type OpCase, operandOf } from "@vd/kernels-native/contract";
import { about } from "./about";

const { values: options } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    op: { type: "string" },
    image: { type: "string" },
    // Check every kernel that could run a case, not only the one that is chosen.
    all: { type: "boolean", default: false },
    // A part of the cases: 2/8 is every eighth from the second.
    shard: { type: "string", default: "1/1" },
    // Leave out cases of more elements than this, for tools that slow everything down.
    most: { type: "string" },
    // How exactly the CPU multiplies: exact, fast or bf16.
    math: { type: "string" },
    json: { type: "string" },
  },
});

const [shard = 1, numShards = 1] = options.shard.split("/").map(Number);
if (!(Number.isInteger(numShards) && Number.isInteger(shard) && shard >= 1 && shard <= numShards))
  throw new Error(`--shard: expected two whole numbers such as 2/8, got ${options.shard}`);

/** Cases seen so far, in this shard and the others. */
let numSeen = 0;

/** True for cases of this shard that are not too large. */
function isWanted(_: OpId, opCase: OpCase): boolean {
  const sizes = Object.values(opCase.inputs).map((given) => (given ? operandOf(given).dims : []));
  const elements = Math.max(...sizes.map((dims) => dims.reduce((product, size) => product * size, 1)));
  if (options.most !== undefined && elements > Number(options.most)) return false;
  return numSeen++ % numShards === shard - 1;
}

const failures: string[] = [];

function noteFailure({ op, caseName, dtype }: ConformanceCheck, faults: readonly string[]): void {
  failures.push(`${op} "${caseName}" ${dtype}: ${faults.join("; ")}`);
  console.log(`FAILED ${failures.at(-1)}`);
}

const device = openDevice(options.device as "cpu" | "cuda", {
  image: options.image,
  math: options.math as CpuMath | undefined,
});
const started = performance.now();
await device.prepare();
const { passed, failed, numVariants } = await runConformance(device, {
  ...(options.op === undefined ? {} : { ops: [options.op as OpId] }),
  kinds: ["results"],
  filter: isWanted,
  everyVariant: options.all,
  reporter: {
    onCheck: (check, { faults }) => void (faults.length > 0 && noteFailure(check, faults)),
    onOp: (op, counts) => console.log(`${op}: ${counts.passed} passed, ${counts.failed} failed`),
  },
});
const seconds = (performance.now() - started) / 1000;
console.log(
  `suite: ${passed} passed, ${failed} failed, ${numVariants} runs of other variants, in ${seconds.toFixed(1)} s on ${device.kind}`,
);
if (options.json) {
  const counts = { passed, failed, failures, variants: numVariants, seconds };
  const image = options.image ?? "best";
  writeFileSync(options.json, `${JSON.stringify({ ...about(), image, ...counts }, null, 1)}\n`);
}
process.exitCode = failed > 0 ? 1 : 0;
