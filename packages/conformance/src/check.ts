import type { DType, OpId } from "@vd/kernels-native";

/** Every {@link CheckKind}. */
export const CHECK_KINDS = ["results", "changed operands", "contract", "fast paths"] as const;

/** What a check looks at: results of a case; results after operands changed between two runs of a plan; shapes and cost that the contract
 *  infers, without running anything; how many cases fast paths serve. */
export type CheckKind = (typeof CHECK_KINDS)[number];

/** What a check found. */
export interface CheckOutcome {
  /** Everything that is wrong, a sentence each; empty if the check passed. */
  faults: readonly string[];
  /** Runs by kernels other than those that the devices chose. */
  numVariants: number;
}

/** One check of an op, to be run by a loop or a test runner. */
export interface ConformanceCheck {
  kind: CheckKind;
  op: OpId;
  /** Unique in a suite, e.g. `conv: everything, silu`. */
  name: string;
  /** Name of the case; undefined for checks of all cases of an op. */
  caseName?: string;
  /** Element type of the case's first operand. */
  dtype?: DType;
  /** Runs the check. What a device throws is a fault. @throws VdError from the op's checks for a case that it does not allow. */
  run(): Promise<CheckOutcome>;
}
