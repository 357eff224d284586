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
} from "@vd/kernels-native/contract";
import {
  type CallOptions,
  channelRange,
  checkCall,
  compile,
  decodeStored,
  type Graph,
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
  private readonly operands: readonly Given[];

  constructor(
    readonly op: OpId,
    readonly opCase: OpCase,
  ) {
    const specs: OpDefinition["inputs"] = OPS[op].inputs;
    this.operands = Object.entries(opCase.inputs).flatMap(([name, each]) =>
      each ? [given(`${op}.${opCase.name}`, name, each as Operand, specs[name]!)] : [],
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

  /** How ONNX Runtime's results differ from the definition's beyond the op's tolerance, as sentences. */
  async faults(): Promise<string[]> {
    const [got, wanted] = [await this.inOnnxRuntime(this.exported()), await this.definition()];
    const limit = OPS[this.op].tolerance.f32;
    return Object.entries(wanted).flatMap(([name, values]) => {
      const text = tooFar(got[name] ?? [], values, limit);
      return text ? [`${this.opCase.name}, ${name}: ${text}`] : [];
    });
  }
}

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
