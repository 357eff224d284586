import { ACTIVATE, at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

const UNARY: Readonly<Record<string, (x: number) => number>> = {
  ...ACTIVATE,
  neg: (x) => -x,
  abs: Math.abs,
  square: (x) => x * x,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  exp: Math.exp,
  log: Math.log,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  relu: (x) => (Number.isNaN(x) ? 0 : Math.max(x, 0)),
};

const BINARY: Readonly<Record<string, (x: number, y: number) => number>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  min: (x, y) => (Number.isNaN(y) || x < y ? x : y),
  max: (x, y) => (Number.isNaN(y) || x > y ? x : y),
};

/** elementwise with a stack, as the instructions say. Constants are float32, as the contract stores them. */
export default function elementwise(call: PlainCall): PlainResults {
  const constants = call.list("constants");
  const program = call.words("code");
  const y = plain(call.operand("a").dims, (...index) => {
    const stack: number[] = [];
    for (const instruction of program) {
      const operand = /^[abcd]$/.test(instruction) ? call.operand(instruction) : undefined;
      if (operand) stack.push(at(operand, ...index));
      else if (/^k\d$/.test(instruction)) stack.push(Math.fround(constants[Number(instruction[1])] ?? 0));
      else if (UNARY[instruction]) stack.push(UNARY[instruction](stack.pop()!));
      else stack.push(BINARY[instruction]!(...([stack.pop()!, stack.pop()!].reverse() as [number, number])));
    }
    return stack[0]!;
  });
  return { y };
}
