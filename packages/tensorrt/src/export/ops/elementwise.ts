import type { Tensor } from "@vd/tensor";
import type { ExportContext, NamedRow } from "../context";
import { activated } from "./epilogue";

/** Instructions that are one node of the same meaning. */
const NODES: Readonly<Record<string, string>> = {
  ...{ neg: "Neg", abs: "Abs", sqrt: "Sqrt", exp: "Exp", log: "Log", sigmoid: "Sigmoid", tanh: "Tanh", relu: "Relu" },
  ...{ add: "Add", sub: "Sub", mul: "Mul", div: "Div", min: "Min", max: "Max" },
};

const BINARY: readonly string[] = ["add", "sub", "mul", "div", "min", "max"];

function unary(c: ExportContext, instruction: string, x: string): string {
  if (instruction === "square") return c.writer.node("Mul", [x, x]);
  if (instruction === "rsqrt") return c.writer.node("Reciprocal", [c.writer.node("Sqrt", [x])]);
  const node = NODES[instruction];
  return node ? c.writer.node(node, [x]) : activated(c, x, instruction);
}

/** An operand as the standard broadcasts it, [1|B,1|F,1|S,1|C]. */
function operandOf(c: ExportContext, { inputs, name }: NamedRow, operand: string): string {
  const tensor = inputs[operand] as Tensor;
  if (tensor.storage.kind === "weights") return c.weights.add(`${name}.${operand}`, tensor);
  return c.read(tensor, name).grid(tensor.dims, 3);
}

/** The result of a program in the output's shape, which it lacks where all that it reads is broadcast, or nothing but constants. */
function inShapeOf(c: ExportContext, { inputs, output, attrs }: NamedRow, result: string): string {
  const code = attrs.code as readonly string[];
  const read = code.flatMap((instruction) => inputs[instruction]?.dims ?? []);
  const isWhole = output.dims.every((size, i) => size === 1 || read.some((one, at) => at % 4 === i && one === size));
  return isWhole ? result : c.writer.node("Expand", [result, c.sizes.shape(output.dims, [3], false)]);
}

/** A program for a stack, node by node. */
export function elementwise(c: ExportContext, row: NamedRow): void {
  const { attrs, output } = row;
  const constants = attrs.constants as readonly number[];
  const stack: string[] = [];
  for (const instruction of attrs.code as readonly string[]) {
    if (instruction in row.inputs) stack.push(operandOf(c, row, instruction));
    else if (/^k\d$/.test(instruction)) stack.push(c.scalar(constants[Number(instruction[1])]!));
    else if (BINARY.includes(instruction)) {
      const y = stack.pop()!;
      stack.push(c.writer.node(NODES[instruction]!, [stack.pop()!, y]));
    } else stack.push(unary(c, instruction, stack.pop()!));
  }
  const channels = output.dims[3]!;
  c.write(output, c.rows(c.regroup(inShapeOf(c, row, stack[0]!), channels), channels));
}
