import { type Device, type DType, isVdError, OPS, type OpId } from "@vd/kernels-native";
import { type OpCase, type OpDefinition, operandOf, type Tolerance } from "@vd/kernels-native/contract";
import type { PlainResults } from "@vd/kernels-native/references";
import { type CaseResult, CaseRun } from "./case-run";
import type { CheckOutcome } from "./check";
import { tooFar, unlikeBits } from "./compare";
import { type ConformanceSuite, MATRIX_OPS, type TestedDevice, testedWith } from "./suite";

type Wanted = Readonly<Record<string, ArrayLike<number>>>;

/** Names and operands of a case; absent ones are left out. */
export const operandsOf = (opCase: OpCase) =>
  Object.entries(opCase.inputs).flatMap(([name, given]) => (given ? [{ name, operand: operandOf(given) }] : []));

/** Element type that the results' tolerance follows from: of the first result where the case says it, else of the first
 *  operand. */
export function firstType(op: OpId, opCase: OpCase): DType {
  if (opCase.outType !== undefined) return opCase.outType;
  const given = opCase.inputs[Object.keys(OPS[op].inputs)[0]!];
  return (given && operandOf(given).dtype) ?? "f32";
}

/** Returns the first 16-bit operand that the CPU, which computes in float32, declines: any that is no weight and that the contract does not except. */
export function declinedOnCpu(op: OpId, opCase: OpCase): string | undefined {
  const { inputs }: OpDefinition = OPS[op];
  const isAccepted = (name: string) => inputs[name]!.constant === true || inputs[name]!.halfOnCpu === true;
  const found = operandsOf(opCase).find(
    ({ name, operand }) => (operand.dtype === "f16" || operand.dtype === "bf16") && !isAccepted(name),
  );
  return found?.name;
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const float64Of = (results: PlainResults): Wanted =>
  Object.fromEntries(Object.entries(results).map(([name, plain]) => [name, plain.data]));

/** What products that are not exact may add to an op's own tolerance. Two parts of bfloat16 keep 16 bits of an operand, one keeps 8; a softmax
 *  of large scores makes more of what is lost. */
const MATH_TOLERANCES = {
  exact: { products: { nmse: 0, worst: 0 }, softmax: { nmse: 0, worst: 0 } },
  fast: { products: { nmse: 4e-10, worst: 4e-4 }, softmax: { nmse: 4e-10, worst: 4e-4 } },
  bf16: { products: { nmse: 1e-4, worst: 0.1 }, softmax: { nmse: 1e-3, worst: 0.5 } },
} as const;

/** What emulated tiles may add in attention, of large scores above all: 6.2e-12 was seen. */
const EMULATED_SOFTMAX: Tolerance = { nmse: 1e-11, worst: 2e-5 };

/** The CPU computes in float32 whatever the type of weights is; where it takes 16-bit activations, results are rounded. */
function toleranceOn(device: Device, op: OpId, dtype: DType): Tolerance {
  const { inputs, tolerance: limits }: OpDefinition = OPS[op];
  const isFloat32 = device.kind === "cpu" && Object.values(inputs)[0]!.halfOnCpu !== true;
  const limit = (isFloat32 ? undefined : limits[dtype]) ?? limits.f32!;
  const { math = "exact" } = device;
  if (!MATRIX_OPS.includes(op)) return limit;
  // Emulated tiles round each pair of products, where tiles sum 32 before they round.
  const emulated = math === "exact" && op === "attention" && device.isa === "amx-emulated";
  const { nmse, worst } = emulated
    ? EMULATED_SOFTMAX
    : MATH_TOLERANCES[math][op === "attention" ? "softmax" : "products"];
  return { nmse: limit.nmse + nmse, worst: limit.worst + worst };
}

function differences({ values }: Pick<CaseResult, "values">, wanted: Wanted, limit: Tolerance): string[] {
  return Object.entries(values)
    .map(([name, got]) => [name, tooFar(got, wanted[name]!, limit)] as const)
    .filter(([, text]) => text)
    .map(([name, text]) => `${name}: ${text}`);
}

/** The results of one case on the devices of a suite. */
class ResultsCheck {
  readonly faults: string[] = [];
  numVariants = 0;
  private readonly dtype: DType;
  private readonly declined: string | undefined;

  constructor(
    private readonly run: CaseRun,
    private readonly everyVariant: boolean,
  ) {
    this.dtype = firstType(run.op, run.opCase);
    this.declined = declinedOnCpu(run.op, run.opCase);
  }

  /** Checks one device and returns its results; undefined where it had none. wanted: called where there are results to compare. */
  async check(tested: TestedDevice, wanted: () => Wanted, wantedName: string): Promise<CaseResult | undefined> {
    const { name, device } = tested;
    try {
      if (device.kind === "cpu" && this.declined !== undefined) return void (await this.checkDeclined(tested));
      const result = await this.run.runOn(device);
      const limit = toleranceOn(device, this.run.op, this.dtype);
      this.note(`${name} against ${wantedName}`, differences(result, wanted(), limit));
      await this.checkSameBits(tested, result);
      const bytes = new Map([[result.candidates[0] ?? "", result.bytes]]);
      for (const variant of this.everyVariant ? result.candidates.slice(1) : []) {
        this.numVariants++;
        const other = await this.run.runOn(device, variant);
        bytes.set(variant, other.bytes);
        this.note(`${name}, ${variant}`, differences(other, wanted(), limit));
      }
      this.note(name, unlikeBits(bytes));
      return result;
    } catch (error) {
      this.note(name, [textOf(error)]);
      return undefined;
    }
  }

  private note(who: string, faults: readonly string[]): void {
    this.faults.push(...faults.map((fault) => `${who}: ${fault}`));
  }

  private async checkSameBits({ name, sameBits = [] }: TestedDevice, { bytes }: CaseResult): Promise<void> {
    for (const other of sameBits)
      if (!(await this.run.runOn(other)).bytes.equals(bytes)) this.note(name, ["two runs give different bits"]);
  }

  private async checkDeclined({ name, device }: TestedDevice): Promise<void> {
    const error: unknown = await this.run.runOn(device).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const place = `[${this.run.opCase.name}] [${this.declined}]`;
    if (isVdError(error) && error.code === "unsupported" && error.message.includes(place)) return;
    this.note(name, [`expected ${place} to be declined as unsupported, got ${error ? textOf(error) : "results"}`]);
  }
}

/** Runs a case on all devices of a suite and compares results. everyVariant: by every kernel that could run it. */
export async function checkResults(
  op: OpId,
  opCase: OpCase,
  { devices, baseline }: ConformanceSuite,
  everyVariant: boolean,
): Promise<CheckOutcome> {
  const run = new CaseRun(op, opCase);
  try {
    const check = new ResultsCheck(run, everyVariant);
    const expected = () => float64Of(run.expected);
    const right = baseline && (await check.check(baseline, expected, "float64"));
    for (const tested of testedWith(op, devices))
      await check.check(tested, right ? () => right.values : expected, right ? baseline.name : "float64");
    const { faults, numVariants } = check;
    return { faults, numVariants };
  } finally {
    run.free();
  }
}

/** Runs a case on each device of a suite, then once more with other numbers in the operands that may change, and compares
 *  the second results with float64. */
export async function checkChangedOperands(
  op: OpId,
  opCase: OpCase,
  { devices, baseline }: ConformanceSuite,
): Promise<CheckOutcome> {
  const faults: string[] = [];
  const run = new CaseRun(op, opCase);
  try {
    for (const { name, device } of [...(baseline ? [baseline] : []), ...testedWith(op, devices)])
      try {
        const result = await run.runWithChanges(device);
        const limit = toleranceOn(device, op, firstType(op, opCase));
        faults.push(...differences(result, float64Of(run.expectedAnew), limit).map((fault) => `${name}: ${fault}`));
      } catch (error) {
        faults.push(`${name}: ${textOf(error)}`);
      }
  } finally {
    run.free();
  }
  return { faults, numVariants: 0 };
}
