import { join } from "node:path";
import { numbers, tooFar } from "@vd/conformance";
import { allocateBuffer, type DType, OPS, type OpId, openDevice } from "@vd/kernels-native";
import {
  type AttrValue,
  type OpCase,
  type OpDefinition,
  type Operand,
  operandOf,
  type TensorSpec,
  type Tolerance,
} from "@vd/kernels-native/contract";
import {
  type CallOptions,
  channelRange,
  checkCall,
  compile,
  decodeStored,
  type Graph,
  layoutGraph,
  makeStorage,
  packedTensor,
  recordOp,
  type Tensor,
  toBfloat16Array,
  toFloat8Array,
  toFloat16Array,
} from "@vd/tensor";
import { exportGraph, type InputNumbers, OnnxSession, writeModel } from "../../src/index";
import type { GraphWriter } from "../../src/onnx/graph-writer";
import { temporaryFolder } from "./temporary-folder";

/** One operand of a case: its numbers, as the type stores them, and its place. */
interface Given {
  readonly name: string;
  readonly operand: Operand;
  readonly dtype: DType;
  readonly isConstant: boolean;
  readonly stored: Float32Array | Int32Array | Uint16Array | Int8Array | Uint8Array;
  /** What is fed: the channels behind a gap are 0. */
  readonly fed: InputNumbers;
}

function stored(values: Float32Array, dtype: DType): Given["stored"] {
  if (dtype === "f16") return toFloat16Array(values);
  if (dtype === "bf16") return toBfloat16Array(values);
  if (dtype === "i32") return Int32Array.from(values);
  if (dtype === "f8e4m3") return toFloat8Array(values);
  if (dtype === "i8") return Int8Array.from(values, (value) => Math.max(-127, Math.min(Math.round(value), 127)));
  return dtype === "u8" ? Uint8Array.from(values) : values;
}

/** Numbers in rows of `width` with `gap` further ones each. */
function withGaps<T extends Float32Array | Int32Array>(values: T, width: number, gap: number): T {
  if (gap === 0) return values;
  const wide = new (values.constructor as new (length: number) => T)((values.length / width) * (width + gap));
  for (let i = 0; i < values.length; i++) wide[Math.floor(i / width) * (width + gap) + (i % width)] = values[i]!;
  return wide;
}

function given(label: string, name: string, case_: Operand | readonly number[], spec: TensorSpec): Given {
  const operand = operandOf(case_);
  const { dims, dtype = "f32", gap = 0, fill } = operand;
  const count = dims.reduce((product, dim) => product * dim, 1);
  const drawn = numbers(`${label}.${name}`, count, fill, dims.at(-1));
  const bytes = stored(drawn, dtype);
  const whole = bytes instanceof Int32Array;
  const fed = whole ? bytes : decodeStored(new Uint8Array(bytes.buffer, 0, bytes.byteLength), dtype);
  const width = dims.at(-1)!;
  return {
    ...{ name, operand, dtype, stored: bytes },
    isConstant: spec.constant === true && operand.constant !== false,
    fed: { data: withGaps(fed, width, gap), dims: [...dims.slice(0, -1), width + gap] },
  };
}

/** A case with its operands, ready to be recorded. */
export class OpCaseRun {
  private made: readonly Given[] | undefined;

  constructor(
    readonly op: OpId,
    readonly opCase: OpCase,
  ) {}

  /** Made when they are first needed, and kept. */
  private get operands(): readonly Given[] {
    this.made ??= this.makeOperands();
    return this.made;
  }

  private makeOperands(): Given[] {
    const specs: OpDefinition["inputs"] = OPS[this.op].inputs;
    return Object.entries(this.opCase.inputs).flatMap(([name, each]) =>
      each ? [given(`${this.op}.${this.opCase.name}`, name, each as Operand, specs[name]!)] : [],
    );
  }

  /** Records the case: constants as weights, everything else as inputs, every result as an output. */
  readonly build = (g: Graph): void => {
    const inputs = Object.fromEntries(this.operands.map((operand) => [operand.name, placed(g, operand)]));
    const { outputs }: OpDefinition = OPS[this.op];
    const [first, ...others] = Object.keys(outputs) as [string, ...string[]];
    const results: Record<string, Tensor> = {};
    const attrs = this.opCase.attrs as Record<string, AttrValue> | undefined;
    const shapes = shapesOf(this.op, { ...attrs, ...inputs } as CallOptions);
    for (const name of others)
      if (this.opCase.also?.includes(name)) results[name] = g.empty(shapes[name]!, outputs[name]!.dtype[0]!);
    const type = this.opCase.outType;
    const out = type === undefined ? {} : { out: g.empty(shapes[first]!, type) };
    const call = { ...attrs, ...inputs, name: this.opCase.name, outputs: results, ...out } as CallOptions;
    g.output(`${first}.result`, recordOp(g, this.op, call));
    for (const [name, tensor] of Object.entries(results)) g.output(`${name}.result`, tensor);
  };

  /** What the definition on the CPU gives, by result. */
  async definition(): Promise<Record<string, Float32Array>> {
    const plan = await compile(openDevice("cpu", { reference: true, threads: 2 }), this.build);
    try {
      for (const each of this.operands.filter(({ isConstant }) => !isConstant))
        plan.writeSync(each.name, each.fed.data);
      await plan.run();
      return Object.fromEntries([...plan.layout.graph.outputs.keys()].map((name) => [name, plan.readSync(name)]));
    } finally {
      plan.freeSync();
    }
  }

  /** The case as ONNX. @throws VdError `unsupported` */
  exported(type: "float" | "float16" = "float"): GraphWriter {
    return exportGraph({ build: this.build, type });
  }

  /** What ONNX Runtime gives, by result. */
  async inOnnxRuntime(graph: GraphWriter): Promise<Record<string, Float32Array>> {
    const { path } = await writeModel(join(temporaryFolder(), "model.onnx"), graph, { name: "case" });
    const session = await OnnxSession.open(path, { threads: 1 });
    try {
      const inputs = this.operands.filter(({ isConstant }) => !isConstant).map(({ name, fed }) => [name, fed]);
      const results = await session.run(Object.fromEntries(inputs));
      return Object.fromEntries(Object.entries(results).map(([name, { data }]) => [name, data]));
    } finally {
      await session.close();
    }
  }

  /** How ONNX Runtime's results differ from the definition's beyond what {@link limitOf} allows, as sentences. */
  async faults(type: "float" | "float16"): Promise<string[]> {
    const [got, wanted] = [await this.inOnnxRuntime(this.exported(type)), await this.definition()];
    return Object.entries(wanted).flatMap(([name, values]) => {
      const text = tooFar(got[name] ?? [], values, this.limitOf(type));
      return text ? [`${this.opCase.name}, ${name}: ${text}`] : [];
    });
  }

  /** False for a case with activations in 16 bits where the CPU has float32 only. */
  get isForCpu(): boolean {
    const specs: OpDefinition["inputs"] = OPS[this.op].inputs;
    return Object.entries(this.opCase.inputs).every(
      ([name, each]) =>
        !each ||
        !isHalf(operandOf(each).dtype ?? "f32") ||
        specs[name]!.constant === true ||
        specs[name]!.halfOnCpu === true,
    );
  }

  /** FLOP of the case. */
  get flops(): number {
    return layoutGraph(this.build).cost.flops;
  }

  /** Definition and runtime may each be as far from the right numbers as the op's tolerance says. */
  private limitOf(type: "float" | "float16"): Tolerance {
    const { tolerance }: OpDefinition = OPS[this.op];
    const first = this.operands[0]!;
    const own = isHalf(first.dtype) ? tolerance[first.dtype]! : (LOOSER[this.op] ?? tolerance.f32!);
    const { nmse, worst } = type === "float" ? own : NARROW;
    return { nmse: 4 * nmse, worst: 2 * worst };
  }
}

const isHalf = (dtype: DType): dtype is "f16" | "bf16" => dtype === "f16" || dtype === "bf16";

/** Ops for which ONNX Runtime is less exact than the contract allows. It takes a token's variance as a difference of squares. */
const LOOSER: Partial<Record<OpId, Tolerance>> = { layer_norm: { nmse: 2e-12, worst: 2e-5 } };

/** What rounding activations to float16 leaves: codes may go to their neighbours. */
const NARROW: Tolerance = { nmse: 1e-3, worst: 0.5 };

/** Dimensions of every result, as the contract infers them. */
function shapesOf(op: OpId, call: CallOptions): Record<string, readonly number[]> {
  const { outputs } = checkCall(op, "case", call as Parameters<typeof checkCall>[2]);
  return Object.fromEntries(Object.keys(OPS[op].outputs).map((name, i) => [name, outputs[i]!.dims]));
}

function placed(g: Graph, { name, operand, dtype, isConstant, stored: bytes }: Given): Tensor {
  const { dims, gap = 0 } = operand;
  if (isConstant) {
    const buffer = allocateBuffer(bytes.byteLength);
    buffer.writeSync(bytes);
    return packedTensor(makeStorage("weights", bytes.byteLength, name, { buffer, byteOffset: 0 }), dims, dtype);
  }
  const width = dims.at(-1)!;
  const whole = g.input(name, [...dims.slice(0, -1), width + gap], dtype);
  return gap === 0 ? whole : channelRange(whole, 0, width);
}
