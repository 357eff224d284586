// The conformance suite on a device without a test runner: every case of every op against its definition in float64, in
// float32 and, recast, in both 16-bit types. Prints a line per failure and a summary; --json FILE writes the results.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type DType, OPS, openDevice } from "@vd/kernels-native";
import { type OpCase, operandOf } from "@vd/kernels-native/contract";
import { type CaseResult, CaseRun } from "../../../packages/tensor/test/ops/case-run";
import { tooFar } from "../../../packages/tensor/test/ops/compare";
import { loadCases } from "../../../packages/tensor/test/ops/load-cases";
import { about } from "./about";
import { recast } from "./recast";

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
    json: { type: "string" },
  },
});

const [shard = 1, numShards = 1] = options.shard.split("/").map(Number);
if (!(Number.isInteger(numShards) && Number.isInteger(shard) && shard >= 1 && shard <= numShards))
  throw new Error(`--shard: expected two whole numbers such as 2/8, got ${options.shard}`);

/** Cases seen so far, in this shard and the others. */
let numSeen = 0;

/** True for cases of this shard that are not too large. */
function isWanted(opCase: OpCase): boolean {
  const sizes = Object.values(opCase.inputs).map((given) => (given ? operandOf(given).dims : []));
  const elements = Math.max(...sizes.map((dims) => dims.reduce((product, size) => product * size, 1)));
  if (options.most !== undefined && elements > Number(options.most)) return false;
  return numSeen++ % numShards === shard - 1;
}

/** What a whole run found. */
interface Counts {
  passed: number;
  failed: number;
  failures: string[];
  /** Runs by kernels other than the chosen ones. */
  variants: number;
}

const device = openDevice(options.device as "cpu" | "cuda", { image: options.image });
const counts: Counts = { passed: 0, failed: 0, failures: [], variants: 0 };

/** What is wrong with one case, as text; empty if nothing is. */
async function check(op: keyof typeof OPS, opCase: OpCase, dtype: DType): Promise<string> {
  const run = new CaseRun(op, opCase);
  const tolerance = OPS[op].tolerance as Partial<Record<DType, { nmse: number; worst: number }>>;
  const limit = tolerance[dtype] ?? tolerance.f32!;
  const faultsOf = ({ values }: CaseResult) =>
    Object.entries(values)
      .map(([name, got]) => [name, tooFar(got, run.expected[name]!.data, limit)] as const)
      .filter(([, text]) => text)
      .map(([name, text]) => `${name}: ${text}`);
  try {
    const result = await run.runOn(device);
    const again = await run.runOn(device);
    if (!result.bytes.equals(again.bytes)) return "two runs differ";
    const faults = faultsOf(result);
    for (const variant of options.all ? result.candidates.slice(1) : []) {
      counts.variants++;
      faults.push(...faultsOf(await run.runOn(device, variant)).map((fault) => `${variant}: ${fault}`));
    }
    return faults.join("; ");
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    run.free();
  }
}

/** The type whose tolerance counts: the first operand's, which is the result's. */
function dtypeOf(op: keyof typeof OPS, opCase: OpCase): DType {
  const given = opCase.inputs[Object.keys(OPS[op].inputs)[0]!];
  return (given && operandOf(given).dtype) ?? "f32";
}

async function run(op: keyof typeof OPS, opCase: OpCase, dtype: DType): Promise<void> {
  const fault = await check(op, opCase, dtype);
  counts[fault ? "failed" : "passed"]++;
  if (!fault) return;
  counts.failures.push(`${op} "${opCase.name}" ${dtype}: ${fault}`);
  console.log(`FAILED ${counts.failures.at(-1)}`);
}

const started = performance.now();
await device.prepare();
for (const { id, cases } of await loadCases()) {
  if (options.op !== undefined && id !== options.op) continue;
  const before = { ...counts };
  for (const opCase of cases.correctness.filter(isWanted)) {
    await run(id, opCase, dtypeOf(id, opCase));
    for (const dtype of ["f16", "bf16"] as const) {
      const narrow = device.kind === "cpu" ? undefined : recast(id, opCase, dtype);
      if (narrow) await run(id, narrow, dtype);
    }
  }
  console.log(`${id}: ${counts.passed - before.passed} passed, ${counts.failed - before.failed} failed`);
}
const seconds = (performance.now() - started) / 1000;
console.log(
  `suite: ${counts.passed} passed, ${counts.failed} failed, ${counts.variants} runs of other variants, in ${seconds.toFixed(1)} s on ${device.kind}`,
);
if (options.json) {
  const image = options.image ?? "best";
  writeFileSync(options.json, `${JSON.stringify({ ...about(), image, ...counts, seconds }, null, 1)}\n`);
}
process.exitCode = counts.failed > 0 ? 1 : 0;
