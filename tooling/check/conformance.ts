// The conformance suite as a program: every case of every op, or of the ops that are named, on every CPU path. Prints one line
// of JSON. --most-flops N leaves out cases of more floating-point operations.
import { parseArgs } from "node:util";
import { cpuSuite, runConformance } from "@vd/conformance";
import type { OpId } from "@vd/kernels-native";

const { values, positionals } = parseArgs({ options: { "most-flops": { type: "string" } }, allowPositionals: true });
const { passed, failures } = await runConformance(cpuSuite(), {
  ...(positionals.length > 0 ? { ops: positionals as OpId[] } : {}),
  ...(values["most-flops"] ? { mostFlops: Number(values["most-flops"]) } : {}),
});
const failed = failures.map(({ check, faults }) => `${check.name}: ${faults.join("; ")}`);
console.log(JSON.stringify({ passed, failed, platform: process.platform, node: process.versions.node }));
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1;
