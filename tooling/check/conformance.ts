// The conformance suite as a program: every case of every op, or of the ops that are named, on every CPU path. Prints one line
// of JSON.
import { cpuSuite, runConformance } from "@vd/conformance";
import type { OpId } from "@vd/kernels-native";

const ops = process.argv.slice(2) as OpId[];
const { passed, failures } = await runConformance(cpuSuite(), ops.length > 0 ? { ops } : {});
const failed = failures.map(({ check, faults }) => `${check.name}: ${faults.join("; ")}`);
console.log(JSON.stringify({ passed, failed, platform: process.platform, node: process.versions.node }));
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1;
