import { type Device, type DType, OPS, type OpId, VdError } from "@vd/kernels-native";
import type { AttrValue, OpCase, OpDefinition, Operand } from "@vd/kernels-native/contract";
import type { Plain, PlainResults } from "@vd/kernels-native/references";
import {
  type CallOptions,
  checkCall,
  type Graph,
  type GraphLayout,
  layoutGraph,
  Plan,
  recordOp,
  type Tensor,
} from "@vd/tensor";
import { numbers, PlacedTensor, placeOperand } from "./operands";
import { computeReference } from "./reference";

/** What one device made of a case. */
export interface CaseResult {
  /** Elements of every result by name. */
  values: Record<string, Float64Array>;
  /** All bytes of the results' buffers, gaps and zones included. */
  bytes: Buffer;
  /** Names of the kernels that could have run, the one that did first; empty where there is but one. */
  candidates: readonly string[];
}

/** Elements between pixels of results after the first, beyond their channels; others are packed. */
const RESULT_GAPS: Readonly<Record<string, number>> = { lse: 2 };

const tensorsOf = (from: Readonly<Record<string, PlacedTensor>>): Record<string, Tensor> =>
  Object.fromEntries(Object.entries(from).map(([name, placed]) => [name, placed.tensor]));

/** A case with its operands in memory, ready to be run by any device. */
export class CaseRun {
  /** What every result should be, in float64; follows the operands when {@link runWithChanges} changes them. */
  expected: PlainResults;
  private readonly operands: Record<string, PlacedTensor> = {};
  private readonly results: Record<string, PlacedTensor> = {};
  private readonly plains: Record<string, Plain> = {};
  private readonly layout: GraphLayout;

  /** Places the operands of `opCase` and computes its results in float64. @throws VdError from the op's checks. */
  constructor(
    readonly op: OpId,
    readonly opCase: OpCase,
  ) {
    const specs: OpDefinition["inputs"] = OPS[op].inputs;
    for (const [name, given] of Object.entries(opCase.inputs) as [string, Operand | readonly number[]][]) {
      const { placed, plain } = placeOperand(`${op}.${opCase.name}`, name, given, specs[name]);
      this.operands[name] = placed;
      this.plains[name] = plain;
    }
    checkCall(op, opCase.name, { ...opCase.attrs, ...tensorsOf(this.operands) });
    this.expected = this.compute();
    const [first, ...others] = Object.keys(OPS[op].outputs) as [string, ...string[]];
    for (const name of [first, ...others.filter((other) => opCase.also?.includes(other))]) {
      const gap = name === first ? (opCase.outGap ?? 0) : (RESULT_GAPS[name] ?? 0);
      const dtype = this.resultType(name);
      this.results[name] = new PlacedTensor(name, { dims: this.expected[name]!.dims, dtype, gap }, false);
    }
    this.layout = layoutGraph((g) => void this.record(g));
  }

  /** Runs the case on `device`, by kernel `variant` or the device's choice.
   *  @throws VdError `internal` if anything but the results was written, and what the device throws. */
  async runOn(device: Device, variant?: string): Promise<CaseResult> {
    const plan = await Plan.load(device, this.layout, variant === undefined ? {} : { variants: [variant] });
    try {
      for (const result of Object.values(this.results)) result.poison();
      await plan.run();
      return { ...this.collect(), candidates: plan.candidates[0] ?? [] };
    } finally {
      plan.freeSync();
    }
  }

  /** Returns whether a fast path would run the case on `device`, not the reference. @throws what the device throws */
  async isFastOn(device: Device): Promise<boolean> {
    const plan = await Plan.load(device, this.layout);
    try {
      return plan.info.fast[0]!;
    } finally {
      plan.freeSync();
    }
  }

  /** Runs the case, gives the operands that may change other numbers, and runs the same plan again. @throws as {@link runOn}. */
  async runWithChanges(device: Device): Promise<CaseResult> {
    const plan = await Plan.load(device, this.layout);
    try {
      await plan.run();
      for (const [name, given] of Object.entries(this.opCase.inputs) as [string, Operand | readonly number[]][]) {
        if (!("constant" in given)) continue;
        const placed = this.operands[name]!;
        this.plains[name] = placed.write(numbers(`${name} anew`, this.plains[name]!.data.length));
      }
      this.expected = this.compute();
      for (const result of Object.values(this.results)) result.poison();
      await plan.run();
      return { ...this.collect(), candidates: plan.candidates[0] ?? [] };
    } finally {
      plan.freeSync();
    }
  }

  /** Frees operands and results. */
  free(): void {
    for (const placed of [...Object.values(this.operands), ...Object.values(this.results)]) placed.free();
  }

  private defect(expected: string, got: string): VdError {
    return new VdError({ code: "internal", where: `${this.op} "${this.opCase.name}"`, expected, got });
  }

  private compute(): PlainResults {
    return computeReference(this.op, this.plains, this.opCase.attrs, this.opCase.outType);
  }

  /** Results have the type of the first operand where the op allows it; the first may have one of its own. */
  private resultType(name: string) {
    const outputs: OpDefinition["outputs"] = OPS[this.op].outputs;
    if (name === Object.keys(outputs)[0] && this.opCase.outType !== undefined) return this.opCase.outType;
    const types: readonly DType[] = outputs[name]!.dtype;
    const [first] = Object.keys(OPS[this.op].inputs) as [string];
    const { dtype } = this.operands[first]!.tensor;
    return types.includes(dtype) ? dtype : types[0]!;
  }

  private record(g: Graph): Tensor {
    const [first, ...others] = Object.keys(OPS[this.op].outputs) as [string, ...string[]];
    const results = tensorsOf(this.results);
    const outputs = Object.fromEntries(others.filter((name) => results[name]).map((name) => [name, results[name]!]));
    const options = {
      ...(this.opCase.attrs as Record<string, AttrValue>),
      ...tensorsOf(this.operands),
      name: this.opCase.name,
      out: results[first],
      outputs,
    };
    return recordOp(g, this.op, options as CallOptions);
  }

  private collect(): Pick<CaseResult, "values" | "bytes"> {
    const values: Record<string, Float64Array> = {};
    for (const [name, placed] of Object.entries(this.results)) {
      const read = placed.read();
      if (read.spoiledBytes > 0)
        throw this.defect(`only elements of ${name} to be written`, `${read.spoiledBytes} changed bytes outside it`);
      values[name] = read.values;
    }
    for (const [name, placed] of Object.entries(this.operands))
      if (!placed.untouched()) throw this.defect(`operand ${name} to be read only`, "changed bytes");
    return { values, bytes: Buffer.concat(Object.values(this.results).map((placed) => placed.bytes())) };
  }
}
