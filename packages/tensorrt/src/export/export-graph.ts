import { FUNCTION, OBJECT, OPS, type OpDefinition, type OpId, optional, requireFields, TEXT } from "@vd/kernels-native";
import { Graph, type Row, type Tensor } from "@vd/tensor";
import { type Axis, GraphWriter } from "../onnx/graph-writer";
import type { ElementType } from "../onnx/schema";
import type { WeightType } from "../onnx/weight-source";
import { ExportContext, type NamedRow, nameRow } from "./context";
import { MAPPINGS } from "./ops/index";
import { unmapped } from "./refusal";
import type { FreeSize } from "./sizes";

/** A model to export: what is recorded, and which of its sizes stay free. */
export interface ExportedGraph {
  /** Records the model. Inputs and outputs of the recording become those of the model, under the same names; what they
   *  look like there may differ, see {@link PortShape}. */
  readonly build: (g: Graph) => void;
  /** Element type of weights, activations, inputs and outputs; inputs in {@link wide} stay float32, as do results that
   *  have no other type in the contract. Whole numbers are int32, int8 or uint8; codes in float8 are in this type. */
  readonly type: WeightType;
  readonly free?: readonly FreeSize[];
  /** Inputs that are float32 whatever the type: noise levels and micro-conditions, which go into sines. */
  readonly wide?: readonly string[];
  /** Dimensions of inputs and outputs in the model, where they differ from the recording's: the same elements in the
   *  same order. Sizes as recorded. */
  readonly ports?: Readonly<Record<string, PortShape>>;
  /** Called after each row. */
  readonly onRow?: (done: number, total: number) => void;
}

const EXPORTED = { build: FUNCTION, type: TEXT, ports: optional(OBJECT), onRow: optional(FUNCTION) };

/** Dimensions of an input or output in the model. */
export type PortShape = readonly number[];

/**
 * Records a model over shapes and maps it, row by row, to ONNX operations.
 *
 * @throws VdError `unsupported` naming the first row that has no ONNX form; nothing is left out
 */
export function exportGraph(exported: ExportedGraph): GraphWriter {
  requireFields("exportGraph", exported, EXPORTED);
  const recording = new Graph();
  exported.build(recording);
  const writer = new GraphWriter();
  const context = new ExportContext(writer, exported.type, exported.free ?? []);
  for (const [name, tensor] of recording.inputs) addInput(context, exported, name, tensor);
  recording.rows.forEach((recorded, i) => {
    const row = nameRow(recorded);
    writer.scope = row.name;
    mappingOf(recorded.op, row.name)(context, row);
    requireResults(context, row);
    exported.onRow?.(i + 1, recording.rows.length);
  });
  for (const [name, tensor] of recording.outputs) addOutput(context, exported, { name, tensor, rows: recording.rows });
  return writer;
}

function mappingOf(op: OpId, name: string) {
  const mapping = MAPPINGS[op];
  if (!mapping) throw unmapped(op, name, "an op with an ONNX form", op);
  return mapping;
}

/** Every result that the row was given a place for must have been made. */
function requireResults(context: ExportContext, { op, name, outputs }: NamedRow): void {
  for (const [result, tensor] of Object.entries(outputs).slice(1))
    if (tensor && !context.hasWritten(tensor)) throw unmapped(op, name, `a row without ${result}`, result);
}

/** Types of whole numbers; floats, and codes in float8, are in the model's type. */
const WHOLE_TYPES: Readonly<Record<string, ElementType>> = { i32: "int32", i8: "int8", u8: "uint8" };

/** Element type of a result: float32 where the contract has nothing else for it. */
function resultType(type: WeightType, tensor: Tensor, rows: readonly Row[]): ElementType {
  const whole = WHOLE_TYPES[tensor.dtype];
  if (whole) return whole;
  const row = rows.findLast(({ outputs }) => outputs.some((each) => each?.storage === tensor.storage));
  if (!row) return type;
  const specs = Object.values((OPS[row.op] as OpDefinition).outputs);
  const spec = specs[row.outputs.findIndex((each) => each?.storage === tensor.storage)]!;
  return spec.dtype.every((dtype) => dtype === "f32") ? "float" : type;
}

const axesOf = (context: ExportContext, dims: readonly number[]): Axis[] => dims.map((dim) => context.sizes.axis(dim));

function addInput(context: ExportContext, { type, wide, ports }: ExportedGraph, name: string, tensor: Tensor): void {
  const whole = WHOLE_TYPES[tensor.dtype];
  const isWide = type === "float" || wide?.includes(name) === true;
  context.writer.scope = name;
  const dims = ports?.[name] ?? tensor.dims;
  const input = context.writer.input(name, whole ?? (isWide ? "float" : type), axesOf(context, dims));
  // Codes and flags are numbers like others inside; what counts, an offset or a seed, is exact in 32 bits only.
  context.writeInput(tensor, whole && whole !== "int32" ? context.cast(input, type) : input);
}

function addOutput(
  context: ExportContext,
  { type, ports }: ExportedGraph,
  { name, tensor, rows }: { name: string; tensor: Tensor; rows: readonly Row[] },
): void {
  context.writer.scope = name;
  const dims = ports?.[name] ?? tensor.dims;
  const value = context.read(tensor, name).grid(dims);
  const stored = resultType(type, tensor, rows);
  const isWhole = stored !== "float" && stored !== "float16" && tensor.dtype !== "i32";
  context.writer.output(name, isWhole ? context.cast(value, stored) : value, stored, axesOf(context, dims));
}
