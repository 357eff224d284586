// The conformance suite as a program: every case of every op on every CPU path. Prints one line of JSON.
import { cpuSuite, runConformance } from "@vd/conformance";

const { passed, failures } = await runConformance(cpuSuite());
const failed = failures.map(({ check, faults }) => `${check.name}: ${faults.join("; ")}`);
console.log(JSON.stringify({ passed, failed, platform: process.platform, node: process.versions.node }));
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1;
