// The conformance suite as a program: every case of every op on every CPU path. Prints one line of JSON.
import { runNoted } from "./vitest-stand-in";

// Not a plain import: its package says that importing has no side effects, and bundlers drop it then.
await import("../../../packages/tensor/test/ops.test");
const { passed, failed } = await runNoted();
console.log(JSON.stringify({ passed, failed, platform: process.platform, node: process.versions.node }));
process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1;
