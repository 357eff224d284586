import {
  COUNT,
  FLAG,
  FUNCTION,
  listOf,
  OBJECT,
  OPS,
  type OpId,
  oneOfThese,
  optional,
  requireFields,
  TEXT,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import type { OpCase } from "@vd/kernels-native/contract";
import { nearestNames } from "@vd/tensor";
import { CHECK_KINDS, type CheckKind, type ConformanceCheck } from "./check";
import { checkContract, checkFastPaths } from "./check-op";
import { checkChangedOperands, checkResults, firstType, operandsOf } from "./check-results";
import { inferCase } from "./infer-case";
import { recast } from "./recast";
import { type ConformanceSuite, requireSuite } from "./suite";

/** Which checks there are. */
export interface CheckOptions {
  /** Default: all ops of the contract. */
  ops?: readonly OpId[];
  /** Default: all kinds. */
  kinds?: readonly CheckKind[];
  /** Cases of your own, by op, in place of the contract's. Their names must differ within an op. */
  cases?: Readonly<Partial<Record<OpId, readonly OpCase[]>>>;
  /** Keeps the cases for which it returns true. Default: all. */
  filter?: (op: OpId, opCase: OpCase) => boolean;
  /** Leaves out cases of more floating-point operations. The largest are there for the tiles of GPUs: without those of more
   *  than 1e8 a CPU takes a quarter of the time. Default: none is left out. */
  mostFlops?: number;
  /** Results by every kernel that could run a case, not only by the one that the device chooses. Default: false. */
  everyVariant?: boolean;
}

const OPTIONS: WantedFields = {
  ops: optional(listOf(TEXT)),
  kinds: optional(listOf(oneOfThese(CHECK_KINDS))),
  cases: optional(OBJECT),
  filter: optional(FUNCTION),
  mostFlops: optional(COUNT),
  everyVariant: optional(FLAG),
};

/** The 16-bit types, in which cases of float32 are checked as well where a device takes them. */
const NARROW_TYPES = ["f16", "bf16"] as const;

function requireOps(ops: readonly string[]): void {
  const known = new Set(Object.keys(OPS));
  const unknown = ops.find((op) => !known.has(op));
  if (unknown === undefined) return;
  throw new VdError({
    ...{ code: "attr", where: "ops", expected: "ids of ops", got: unknown },
    hint: `Nearest: ${nearestNames(unknown, known).join(", ")}.`,
  });
}

/** The checks of one case's results, in its own types and in both 16-bit types where a device takes them. */
function resultChecks(op: OpId, opCase: OpCase, suite: ConformanceSuite, options: CheckOptions): ConformanceCheck[] {
  const { everyVariant = false } = options;
  const check = (each: OpCase, name: string): ConformanceCheck => ({
    ...{ kind: "results", op, name: `${op}: ${name}`, caseName: opCase.name, dtype: firstType(op, each) },
    run: () => checkResults(op, each, suite, everyVariant),
  });
  const isCpuOnly = suite.devices.every(({ device }) => device.kind === "cpu");
  const narrow = (isCpuOnly ? [] : NARROW_TYPES).flatMap((dtype) => {
    const each = recast(op, opCase, dtype);
    return each ? [{ ...check(each, `${opCase.name}, ${dtype}`), dtype }] : [];
  });
  return [check(opCase, opCase.name), ...narrow];
}

/** The checks of one op, of all kinds. */
function checksOf(op: OpId, suite: ConformanceSuite, options: CheckOptions): ConformanceCheck[] {
  const contract = OP_CASES[op];
  const { cases, filter = () => true, mostFlops } = options;
  const isSmall = (opCase: OpCase) => mostFlops === undefined || inferCase(op, opCase).cost.flops <= mostFlops;
  const chosen = (cases?.[op] ?? contract.correctness).filter((opCase) => filter(op, opCase) && isSmall(opCase));
  const changing = chosen.filter((opCase) => operandsOf(opCase).some(({ operand }) => operand.constant === false));
  const checks: ConformanceCheck[] = chosen.flatMap((opCase) => resultChecks(op, opCase, suite, options));
  for (const opCase of changing)
    checks.push({
      ...{ kind: "changed operands", op, name: `${op}: ${opCase.name}, then others`, caseName: opCase.name },
      run: () => checkChangedOperands(op, opCase, suite),
    });
  checks.push({
    ...{ kind: "contract", op, name: `${op}: cost and shapes of all cases` },
    run: async () => checkContract(op, contract),
  });
  if (suite.fastOps?.includes(op))
    checks.push({
      ...{ kind: "fast paths", op, name: `${op}: fast paths serve most cases` },
      run: () => checkFastPaths(op, chosen, suite),
    });
  return checks;
}

/** Returns the checks of a suite op by op, for a test runner; {@link runConformance} runs them without one.
 *  @throws VdError `attr` for an op that is not known, and for what is no suite and for options that are none.
 *  @example
 *  test.each(conformanceChecks(cpuSuite()).map((check) => [check.name, check] as const))("%s", async (_, check) => {
 *    expect((await check.run()).faults).toEqual([]);
 *  }); */
export function conformanceChecks(suite: ConformanceSuite, options: CheckOptions = {}): ConformanceCheck[] {
  requireSuite("conformanceChecks suite", suite);
  requireFields("conformanceChecks", options, OPTIONS);
  const { ops = Object.keys(OPS) as OpId[], kinds } = options;
  requireOps(ops);
  return ops.flatMap((op) => checksOf(op, suite, options)).filter(({ kind }) => kinds?.includes(kind) ?? true);
}
