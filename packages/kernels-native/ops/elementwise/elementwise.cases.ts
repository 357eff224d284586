import { type CaseOf, defineCases } from "../../contract/define-case";
import elementwise from "./elementwise.op";
import {
  ELEMENTWISE_BINARY,
  ELEMENTWISE_OPERANDS,
  ELEMENTWISE_UNARY,
  type ElementwiseInstruction,
} from "./instructions";

type Case = CaseOf<typeof elementwise>;

const x = [2, 3, 5, 16];
const odd = [2, 3, 5, 7];
/** Numbers that logarithms, roots and divisions take. */
const positive = (dims: readonly number[]) => ({ dims, fill: { mean: 3, deviation: 0.3 } });

/** A program as one text. */
const code = (text: string) => text.split(" ") as ElementwiseInstruction[];

const functions: Case[] = [
  ...ELEMENTWISE_UNARY.flatMap((name) => [
    { name, inputs: { a: /log|sqrt/.test(name) ? positive(x) : x }, attrs: { code: ["a", name] } },
    { name: `${name}, odd`, inputs: { a: /log|sqrt/.test(name) ? positive(odd) : odd }, attrs: { code: ["a", name] } },
  ]),
  ...ELEMENTWISE_BINARY.flatMap((name) => [
    { name, inputs: { a: x, b: name === "div" ? positive(x) : x }, attrs: { code: ["a", "b", name] } },
    {
      name: `${name}, odd, operands swapped`,
      inputs: { a: positive(odd), b: odd },
      attrs: { code: ["b", "a", name] },
    },
  ]),
] as Case[];

/** Every expression that GPUs have a kernel of its own for, and relatives of theirs. */
const expressions = [
  ["a k0 mul", [0.3]],
  ["a k0 mul k1 add", [2, -1]],
  ["a k0 mul b k1 mul add", [0.25, -1.5]],
  ["a k0 max k1 min", [-0.5, 0.5]],
  ["a b c mul add", []],
  ["a b mul c add", []],
  ["a b c mul add silu", []],
  ["a silu b mul", []],
  ["a b silu mul", []],
  ["a gelu b mul", []],
  ["a b gelu mul", []],
  ["a k0 b add mul c add", [1]],
  ["a b k0 add mul c add", [1]],
  ["a b a sub c mul add", []],
  ["b c mul a add", []],
  ["a b add c d add mul", []],
  ["a a mul b b mul add sqrt", []],
  ["a b c d add mul sub tanh", []],
  ["k3 k1 sub a mul", [0, 2, 0, 5]],
  ["a k0 mul exp k1 add log k2 k3 min mul", [0.1, 2, 3, 4]],
  ["a sigmoid rsqrt log exp sqrt silu gelu gelu_tanh quick_gelu tanh relu square neg abs", []],
  ["d c b a sub sub sub a d div b max c min add", []],
] as const;

const programs = expressions.flatMap(([text, constants]): Case[] => {
  const used = ELEMENTWISE_OPERANDS.filter((name) => text.split(" ").includes(name));
  const attrs = { code: code(text), constants };
  const all = (dims: readonly number[]) => Object.fromEntries(used.map((name) => [name, dims])) as Case["inputs"];
  return [
    { name: text, inputs: { ...all(x), a: x }, attrs },
    { name: `${text}, odd`, inputs: { ...all(odd), a: odd }, attrs },
  ];
});

const silu = code("a b c mul add silu");
const residual = { code: code("a b c mul add") };

const broadcasts: Case[] = (
  [
    ["per channel", [1, 1, 1, 16], [1, 1, 1, 16]],
    ["per clip", [2, 1, 1, 16], [2, 3, 5, 16]],
    ["per frame", [1, 3, 1, 16], [2, 3, 1, 16]],
    ["per token", [2, 3, 5, 1], [1, 1, 5, 16]],
    ["one number", [1, 1, 1, 1], [2, 3, 5, 16]],
    ["two single numbers", [1, 1, 1, 1], [1, 1, 1, 1]],
    ["one number a clip", [2, 1, 1, 1], [1, 3, 1, 1]],
  ] as const
).flatMap(([name, b, c]): Case[] => [
  { name: `a gated residual ${name}`, inputs: { a: x, b, c }, attrs: residual },
  {
    name: `an expression without a kernel of its own, ${name}`,
    inputs: { a: x, b, c },
    attrs: { code: code("a b sub c mul k0 add"), constants: [0.5] },
  },
  {
    name: `a gated residual ${name}, odd`,
    inputs: { a: odd, b: b.map((size) => (size === 16 ? 7 : size)), c: c.map((size) => (size === 16 ? 7 : size)) },
    attrs: residual,
  },
]);

const places: Case[] = [
  { name: "one number in all", inputs: { a: [1, 1, 1, 1], b: [1, 1, 1, 1] }, attrs: { code: code("a b add") } },
  { name: "a alone", inputs: { a: odd }, attrs: { code: ["a"] } },
  { name: "unused operands", inputs: { a: x, b: x, d: [1, 1, 1, 1] }, attrs: { code: code("b silu") } },
  { name: "constants alone", inputs: { a: x }, attrs: { code: code("k1 k0 sub k0 mul"), constants: [2, 0.5] } },
  { name: "a broadcast operand alone", inputs: { a: x, b: [1, 1, 1, 16] }, attrs: { code: code("b square") } },
  { name: "one channel", inputs: { a: [2, 3, 40, 1], b: [2, 3, 40, 1] }, attrs: { code: code("a b mul") } },
  { name: "many tokens", inputs: { a: [1, 2, 1030, 24], b: [1, 2, 1, 24], c: [1, 2, 1030, 24] }, attrs: residual },
  { name: "1337 channels", inputs: { a: [1, 2, 3, 1337], b: [1, 1, 1, 1337], c: [1, 2, 3, 1] }, attrs: residual },
  {
    name: "on gaps",
    inputs: { a: { dims: x, gap: 8 }, b: { dims: x, gap: 16 }, c: { dims: [2, 1, 1, 16], gap: 8 } },
    attrs: { code: silu },
    outGap: 24,
  },
  {
    name: "on gaps, an expression without a kernel of its own",
    inputs: {
      a: { dims: x, gap: 8 },
      b: { dims: [1, 3, 1, 16], gap: 8 },
      c: { dims: [2, 1, 5, 1] },
      d: { dims: x, gap: 16 },
    },
    attrs: { code: code("d a b sub c mul k0 add silu sub"), constants: [0.5] },
    outGap: 24,
  },
  {
    name: "many tokens, an expression without a kernel of its own",
    inputs: { a: [1, 2, 1030, 24], b: [1, 2, 1, 24], c: [1, 2, 1030, 1] },
    attrs: { code: code("a b mul a c sub tanh add") },
  },
  {
    name: "on odd gaps",
    inputs: { a: { dims: odd, gap: 2, shiftBytes: 4 }, b: { dims: odd, gap: 9 }, c: { dims: [2, 1, 1, 7], gap: 1 } },
    attrs: { code: silu },
    outGap: 3,
  },
  {
    name: "at byte 4",
    inputs: { a: { dims: x, shiftBytes: 4 }, b: x, c: x },
    attrs: { code: silu },
  },
  {
    name: "16 instructions, 4 numbers at a time",
    inputs: { a: x, b: x, c: x, d: positive(x) },
    attrs: { code: code("a b c d mul add mul neg a k0 add d div max tanh abs"), constants: [2] },
  },
];

const types = (["f16", "bf16"] as const).flatMap((dtype): Case[] => [
  { name: `all ${dtype}`, inputs: { a: { dims: x, dtype }, b: { dims: x, dtype } }, attrs: { code: code("a b add") } },
  {
    name: `a ${dtype}, others f32`,
    inputs: { a: { dims: x, dtype }, b: [2, 1, 1, 16], c: x },
    attrs: residual,
  },
]);

const threeOf = (dims: readonly number[]) => ({ a: dims, b: dims, c: dims });

export default defineCases(elementwise, {
  correctness: [...functions, ...programs, ...broadcasts, ...places, ...types],
  bench: [
    { name: "64 channels, 3584 tokens, silu(a + b · c)", inputs: threeOf([2, 14, 128, 64]), attrs: { code: silu } },
    {
      name: "320 channels, 460800 tokens, silu(a + b · c)",
      inputs: threeOf([2, 25, 9216, 320]),
      attrs: { code: silu },
    },
    {
      name: "320 channels, 460800 tokens, a + b",
      inputs: { a: [2, 25, 9216, 320], b: [2, 25, 9216, 320] },
      attrs: { code: code("a b add") },
    },
    {
      name: "1536 channels, 32760 tokens, gated residual",
      inputs: { a: [1, 1, 32760, 1536], b: [1, 1, 1, 1536], c: [1, 1, 32760, 1536] },
      attrs: residual,
    },
    {
      name: "320 channels, 460800 tokens, tanh((a - b) · c) + 0.5",
      inputs: threeOf([2, 25, 9216, 320]),
      attrs: { code: code("a b sub c mul tanh k0 add"), constants: [0.5] },
    },
  ],
});
