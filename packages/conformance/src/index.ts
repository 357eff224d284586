export type { CheckKind, CheckOutcome, ConformanceCheck } from "./check";
export { type CheckOptions, conformanceChecks } from "./checks";
export { tooFar } from "./compare";
export { numbers } from "./operands";
export { computeReference } from "./reference";
export {
  type ConformanceCounts,
  type ConformanceFailure,
  type ConformanceOptions,
  type ConformanceReport,
  type ConformanceReporter,
  runConformance,
} from "./run-conformance";
export { type ConformanceSuite, cpuSuite, deviceSuite, MATRIX_OPS, type TestedDevice } from "./suite";
