// @vd/conformance alone: an op on this processor against its definition, with the contract's cases and with one of our own.
import { runConformance } from "@vd/conformance";
import { openDevice } from "@vd/kernels-native";

const device = openDevice("cpu");
const reporter = {
  onCheck: ({ name }, { faults }) => faults.length > 0 && console.log(`FAILED ${name}: ${faults.join("; ")}`),
};

const contract = await runConformance(device, { ops: ["layer_norm"], reporter });
console.log(`layer_norm, the contract's cases: ${contract.passed} passed, ${contract.failed} failed`);

const ours = { name: "wide rows", inputs: { x: [1, 2, 3, 5000], weight: [5000], bias: [5000] }, attrs: { eps: 1e-5 } };
const own = await runConformance(device, {
  ops: ["layer_norm"],
  kinds: ["results"],
  cases: { layer_norm: [ours] },
  reporter,
});
console.log(`layer_norm, ${ours.name}: ${own.passed} passed, ${own.failed} failed`);
