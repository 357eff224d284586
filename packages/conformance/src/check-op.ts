import { OPS, type OpId } from "@vd/kernels-native";
import type { OpCase, OpCases } from "@vd/kernels-native/contract";
import { CaseRun } from "./case-run";
import type { CheckOutcome } from "./check";
import { declinedOnCpu } from "./check-results";
import { inferCase } from "./infer-case";
import { type ConformanceSuite, type TestedDevice, testedWith } from "./suite";

/** Of the cases, those at every fourth place are looked at for their fast path. */
const FAST_SAMPLE = 4;
/** Share of these that must have one. */
const LEAST_FAST_SHARE = 0.8;

/** What is wrong with the shapes and the cost that the contract infers for a case, as sentences. */
function inferenceFaults(op: OpId, opCase: OpCase): string[] {
  const { cost, graph } = inferCase(op, opCase);
  const { dims } = graph.rows[0]!.outputs[0]!;
  return [
    ...(Number.isSafeInteger(cost.flops) && cost.flops >= 0 ? [] : [`${opCase.name}: ${cost.flops} FLOP`]),
    ...(dims.every((dim) => dim >= 1) ? [] : [`${opCase.name}: a result of [${dims.join(",")}]`]),
  ];
}

/** Infers shapes and cost of all cases of an op, those from models too, without running any. */
export function checkContract(op: OpId, cases: OpCases): CheckOutcome {
  const all = [...cases.correctness, ...cases.bench];
  const names = all.map(({ name }) => name);
  const repeated = names.filter((name, i) => names.indexOf(name) !== i);
  const faults = [
    ...(cases.op === OPS[op] ? [] : [`the cases are of ${cases.op.id}`]),
    ...repeated.map((name) => `two cases are called ${name}`),
    ...all.flatMap((opCase) => inferenceFaults(op, opCase)),
  ];
  return { faults, numVariants: 0 };
}

/** Whether each of the devices has a fast path for a case. */
async function haveFast(op: OpId, opCase: OpCase, devices: readonly TestedDevice[]): Promise<boolean[]> {
  const run = new CaseRun(op, opCase);
  try {
    return await Promise.all(devices.map(({ device }) => run.isFastOn(device)));
  } finally {
    run.free();
  }
}

/** Prepares some of the cases on each device of a suite: fast paths must serve most of them. Their results are checked elsewhere. */
export async function checkFastPaths(
  op: OpId,
  cases: readonly OpCase[],
  suite: ConformanceSuite,
): Promise<CheckOutcome> {
  const devices = testedWith(op, suite.devices);
  const sample = cases.filter((opCase, i) => i % FAST_SAMPLE === 0 && declinedOnCpu(op, opCase) === undefined);
  const served: boolean[][] = [];
  for (const opCase of sample) served.push(await haveFast(op, opCase, devices));
  const faults = devices.flatMap(({ name }, i) => {
    const share = served.filter((each) => each[i]).length / sample.length;
    if (share > LEAST_FAST_SHARE) return [];
    return [`${name}: expected a fast path for more than ${LEAST_FAST_SHARE} of the cases, got ${share}`];
  });
  return { faults, numVariants: 0 };
}
