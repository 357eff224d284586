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
  private readonly operands: Record<string, PlacedTensor> = {};
  private readonly results: Record<string, PlacedTensor> = {};
  private readonly plains: Record<string, Plain> = {};
  private readonly plainsAnew: Record<string, Plain> = {};
  private computed: PlainResults | undefined;
  private computedAnew: PlainResults | undefined;
  private readonly layout: GraphLayout;

  /** Places the operands of `opCase` and room for its results. @throws VdError from the op's checks. */
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
    const { outputs } = checkCall(op, opCase.name, { ...opCase.attrs, ...tensorsOf(this.operands) });
    const [first, ...others] = Object.keys(OPS[op].outputs) as [string, ...string[]];
    const names = Object.keys(OPS[op].outputs);
    for (const name of [first, ...others.filter((other) => opCase.also?.includes(other))]) {
      const gap = name === first ? (opCase.outGap ?? 0) : (RESULT_GAPS[name] ?? 0);
      const dtype = this.resultType(name);
      this.results[name] = new PlacedTensor(name, { dims: outputs[names.indexOf(name)]!.dims, dtype, gap }, false);
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

  /** What every result should be, in float64. */
  get expected(): PlainResults {
    this.computed ??= this.compute(this.plains);
    return this.computed;
  }

  /** What every result should be after the changes of {@link runWithChanges}. */
  get expectedAnew(): PlainResults {
    this.computedAnew ??= this.compute({ ...this.plains, ...this.plainsAnew });
    return this.computedAnew;
  }

  /** Runs the case, gives the operands that may change other numbers, and runs the same plan again; then the operands are as before.
   *  @throws as {@link runOn}. */
  async runWithChanges(device: Device): Promise<CaseResult> {
    const inputs = Object.entries(this.opCase.inputs) as [string, Operand | readonly number[]][];
    const names = inputs.flatMap(([name, given]) => ("constant" in given ? [name] : []));
    const before = names.map((name) => this.operands[name]!.bytes());
    const plan = await Plan.load(device, this.layout);
    try {
      await plan.run();
      for (const name of names)
        this.plainsAnew[name] = this.operands[name]!.write(numbers(`${name} anew`, this.plains[name]!.data.length));
      for (const result of Object.values(this.results)) result.poison();
      await plan.run();
      return { ...this.collect(), candidates: plan.candidates[0] ?? [] };
    } finally {
      plan.freeSync();
      for (const [i, name] of names.entries()) this.operands[name]!.restore(before[i]!);
    }
  }

  /** Frees operands and results. */
  free(): void {
    for (const placed of [...Object.values(this.operands), ...Object.values(this.results)]) placed.free();
  }

  private defect(expected: string, got: string): VdError {
    return new VdError({ code: "internal", where: `${this.op} "${this.opCase.name}"`, expected, got });
  }

  /** The results of the reference, which must have the shapes that the contract infers. */
  private compute(plains: Readonly<Record<string, Plain>>): PlainResults {
    const computed = computeReference(this.op, plains, this.opCase.attrs, this.opCase.outType);
    for (const [name, { tensor }] of Object.entries(this.results)) {
      const [inferred, own] = [tensor.dims.join(), computed[name]!.dims.join()];
      if (own !== inferred) throw this.defect(`${name} of the reference as [${inferred}]`, `[${own}]`);
    }
    return computed;
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
