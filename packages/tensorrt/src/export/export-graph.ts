import type { OpId } from "@vd/kernels-native";
import { Graph, type Tensor } from "@vd/tensor";
import { type Axis, GraphWriter } from "../onnx/graph-writer";
import type { WeightType } from "../onnx/weight-source";
import { ExportContext, nameRow, unmapped } from "./context";
import { MAPPINGS } from "./ops/index";
import type { FreeSize } from "./sizes";

/** A model to export: what is recorded, and which of its sizes stay free. */
export interface ExportedGraph {
  /** Records the model. Inputs and outputs of the recording become those of the model, under the same names; what they
   *  look like there may differ, see {@link PortShape}. */
  readonly build: (g: Graph) => void;
  /** Element type of weights, activations, inputs and outputs; inputs in {@link wide} stay float32. */
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

/** Dimensions of an input or output in the model. */
export type PortShape = readonly number[];

/**
 * Records a model over shapes and maps it, row by row, to ONNX operations.
 *
 * @throws VdError `unsupported` naming the first row that has no ONNX form; nothing is left out
 */
export function exportGraph(exported: ExportedGraph): GraphWriter {
  const recording = new Graph();
  exported.build(recording);
  const writer = new GraphWriter();
  const context = new ExportContext(writer, exported.type, exported.free ?? []);
  for (const [name, tensor] of recording.inputs) addInput(context, exported, name, tensor);
  recording.rows.forEach((recorded, i) => {
    const row = nameRow(recorded);
    writer.scope = row.name;
    mappingOf(recorded.op, row.name)(context, row);
    exported.onRow?.(i + 1, recording.rows.length);
  });
  for (const [name, tensor] of recording.outputs) addOutput(context, exported, name, tensor);
  return writer;
}

function mappingOf(op: OpId, name: string) {
  const mapping = MAPPINGS[op];
  if (!mapping) throw unmapped(op, name, "an op with an ONNX form", op);
  return mapping;
}

const axesOf = (context: ExportContext, dims: readonly number[]): Axis[] => dims.map((dim) => context.sizes.axis(dim));

function addInput(context: ExportContext, { type, wide, ports }: ExportedGraph, name: string, tensor: Tensor): void {
  const isWide = type === "float" || wide?.includes(name) === true;
  context.writer.scope = name;
  const dims = ports?.[name] ?? tensor.dims;
  const input = context.writer.input(name, isWide ? "float" : type, axesOf(context, dims));
  context.writeInput(tensor, input);
}

function addOutput(context: ExportContext, { type, ports }: ExportedGraph, name: string, tensor: Tensor): void {
  context.writer.scope = name;
  const dims = ports?.[name] ?? tensor.dims;
  const value = context.read(tensor, name);
  context.writer.output(name, value.grid(dims), type, axesOf(context, dims));
}
