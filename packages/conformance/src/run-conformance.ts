import {
  type Device,
  FUNCTION,
  type OpId,
  optional,
  requireFields,
  requireOptions,
  type WantedFields,
} from "@vd/kernels-native";
import type { CheckOutcome, ConformanceCheck } from "./check";
import { type CheckOptions, conformanceChecks } from "./checks";
import { type ConformanceSuite, deviceSuite } from "./suite";

/** A check that found something wrong. */
export interface ConformanceFailure {
  check: ConformanceCheck;
  faults: readonly string[];
}

/** Numbers of checks. */
export interface ConformanceCounts {
  passed: number;
  failed: number;
  /** Runs by kernels other than those that the devices chose. */
  numVariants: number;
}

/** What all checks together found. */
export interface ConformanceReport extends ConformanceCounts {
  failures: readonly ConformanceFailure[];
}

/** Hears of checks while they run. */
export interface ConformanceReporter {
  /** Called after each check. */
  onCheck?(check: ConformanceCheck, outcome: CheckOutcome): void;
  /** Called after the last check of an op. */
  onOp?(op: OpId, counts: ConformanceCounts): void;
}

/** Which checks run, and who hears of them. */
export interface ConformanceOptions extends CheckOptions {
  reporter?: ConformanceReporter;
}

const REPORTER: WantedFields = { onCheck: optional(FUNCTION), onOp: optional(FUNCTION) };

const noCounts = (): ConformanceCounts => ({ passed: 0, failed: 0, numVariants: 0 });

function count(counts: ConformanceCounts, { faults, numVariants }: CheckOutcome): void {
  counts[faults.length > 0 ? "failed" : "passed"]++;
  counts.numVariants += numVariants;
}

/** Runs the checks of a device or of a suite one after the other and resolves to what they found. A check that fails stops
 *  nothing. @throws VdError `attr` for an op that is not known, and from the op's checks for a case that it does not allow.
 *  @example
 *  const { passed, failures } = await runConformance(openDevice("cpu"), { ops: ["linear", "conv"] }); */
export async function runConformance(
  target: Device | ConformanceSuite,
  given: ConformanceOptions = {},
): Promise<ConformanceReport> {
  requireOptions("runConformance target", target);
  requireOptions("runConformance", given);
  const { reporter, ...options } = given;
  if (reporter !== undefined) requireFields("runConformance reporter", reporter, REPORTER);
  const suite = "devices" in target ? target : deviceSuite(target);
  const checks = conformanceChecks(suite, options);
  const total = noCounts();
  let ofOp = noCounts();
  const failures: ConformanceFailure[] = [];
  for (const [i, check] of checks.entries()) {
    const outcome = await check.run();
    if (outcome.faults.length > 0) failures.push({ check, faults: outcome.faults });
    for (const counts of [total, ofOp]) count(counts, outcome);
    reporter?.onCheck?.(check, outcome);
    if (checks[i + 1]?.op === check.op) continue;
    reporter?.onOp?.(check.op, ofOp);
    ofOp = noCounts();
  }
  return { ...total, failures };
}
