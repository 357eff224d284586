import { describe, expect, it } from "vitest";
import { OPS, type OpCase, type OpCases, type OpDefinition, type OpId, slotsOf } from "../contract/index";
import { joinedTexts } from "../src/joined-texts";
import { loadAddon } from "../src/load";
import { encodeCase } from "./addon-fuzz/encode-case";

const WORDS_OF_TENSOR = 10;
const addon = loadAddon();
const device = addon.openDevice({ threads: 1, isa: "best", math: "exact", reference: false });
const folder = new URL("../ops/", import.meta.url);

/** Operands that no byte of a result may belong to. */
const operandsOf = (op: OpDefinition, apart: "all" | readonly string[]): readonly string[] =>
  apart === "all" ? Object.keys(op.inputs) : apart;

/** Every pair of a result and an operand that a contract keeps apart. */
const pairs = (Object.entries(OPS) as [OpId, OpDefinition][]).flatMap(([id, op]) =>
  Object.entries(op.outputs).flatMap(([result, { apart }]) =>
    apart === undefined ? [] : operandsOf(op, apart).map((operand) => ({ id, result, operand })),
  ),
);

type Pair = (typeof pairs)[number];

/** Every pair of a result and another tensor of the call that it may take the place of, or lie nowhere over. */
const otherPairs = (Object.entries(OPS) as [OpId, OpDefinition][]).flatMap(([id, op]) =>
  Object.keys(op.outputs).flatMap((result) =>
    [...Object.keys(op.inputs), ...Object.keys(op.outputs)]
      .filter((operand) => operand !== result)
      .filter((operand) => !pairs.some((pair) => pair.id === id && pair.result === result && pair.operand === operand))
      .map((operand) => ({ id, result, operand })),
  ),
);

async function casesOf(id: OpId): Promise<OpCases["correctness"]> {
  const module = await import(new URL(`${id}/${id}.cases.ts`, folder).href);
  return ((module.default.default ?? module.default) as OpCases).correctness;
}

/** A program in which the result lies in the operand's memory, some bytes behind it or exactly where it does; undefined where no
 *  case has both, one of several elements. cases: default those of the contract. */
async function sharing(
  { id, result, operand }: Pair,
  how: "shifted" | "exact" = "shifted",
  cases?: OpCases["correctness"],
) {
  const op: OpDefinition = OPS[id];
  const names = [...Object.keys(op.inputs), ...Object.keys(op.outputs)];
  const begin = 1 + Object.values(op.attrs).reduce((sum, spec) => sum + slotsOf(spec), 0);
  const placeOf = (name: string) => begin + WORDS_OF_TENSOR * names.indexOf(name);
  for (const each of cases ?? (await casesOf(id))) {
    const { words, blocks } = encodeCase(id, each);
    const [to, from] = [placeOf(operand), placeOf(result)];
    const [shared, own] = [blocks[words[to]!], blocks[words[from]!]];
    if (!shared || !own || Math.max(shared.bytes, own.bytes) <= 4) continue;
    const half = 16 * Math.floor(shared.bytes / 32) || (shared.bytes > 4 ? 4 : 0);
    const shift = how === "exact" ? 0 : half;
    words[from] = words[to]!;
    words[from + 1] = words[to + 1]! + shift;
    const pitch = WORDS_OF_TENSOR - 1;
    if (how === "exact") words[from + pitch] = words[to + pitch]!;
    blocks[words[to]!] = { bytes: Math.max(shared.bytes, own.bytes + words[from + 1]!), constant: false };
    return { words, blocks };
  }
  return undefined;
}

const compiled = ({ words, blocks }: NonNullable<Awaited<ReturnType<typeof sharing>>>, name: string) => {
  const buffers = blocks.map(({ bytes, constant }) => ({ buffer: addon.allocateBuffer(bytes), constant }));
  return device.compile(Float64Array.from(words), joinedTexts("name", [name]), buffers);
};

describe("a result in the memory of an operand that is read while it is written", () => {
  it("is there to be tested for ops that gather", () => {
    for (const id of ["attention", "conv", "linear", "pool", "resize", "layout_in"])
      expect(pairs.map((pair) => pair.id)).toContain(id);
  });

  it.each(pairs)("$id: $result over $operand is refused", async (pair) => {
    const program = await sharing(pair);
    if (program === undefined) throw new Error(`no case of ${pair.id} has both ${pair.result} and ${pair.operand}`);
    const refusal = /expected memory that holds no other operand, got that of /;
    await expect(compiled(program, pair.id)).rejects.toThrow(refusal);
  });
});

describe("a result that lies over a part of another tensor of its call", () => {
  // Frames of 8 bits have an element type of their own, which cases of the addon alone do not give.
  it.each(otherPairs.filter(({ id }) => id !== "frames_out"))("$id: $result over $operand is refused", async (pair) => {
    const program = await sharing(pair);
    // Some pairs are in no case together, such as the noise of a step and what draws it.
    if (program === undefined) return;
    await expect(compiled(program, pair.id)).rejects.toThrow(/expected memory that holds no other operand/);
  });

  it.each([
    { id: "elementwise", result: "y", operand: "a" },
    { id: "group_norm", result: "y", operand: "x" },
    { id: "layer_norm", result: "y", operand: "x" },
    { id: "linear", result: "y", operand: "residual" },
    { id: "conv", result: "y", operand: "residual" },
    { id: "sampler_step", result: "next", operand: "x" },
    { id: "sampler_step", result: "nextHistory", operand: "history" },
  ] as const)("$id: $result in exactly the place of $operand is not", async (pair) => {
    await expect(compiled((await sharing(pair, "exact"))!, pair.id)).resolves.toBeDefined();
  });
});

describe("a result in exactly the place of an operand with as many elements and channels, but another shape", () => {
  const statistics: OpCase = {
    name: "two groups of one channel",
    inputs: { x: [2, 3, 1, 2, 2], weight: [2], bias: [2], stats: [2, 3, 2, 2] },
    attrs: { groups: 2, eps: 1e-5 },
  };
  const step: OpCase = {
    name: "as many elements as coefficients",
    inputs: { prediction: [1, 1, 1, 2, 3], x: [1, 1, 1, 2, 3], coefficients: [2, 3] },
  };
  const drawn: OpCase = {
    name: "as many elements as words of a seed",
    inputs: {
      ...{ prediction: [1, 1, 1, 1, 4], x: [1, 1, 1, 1, 4], coefficients: [2, 3] },
      philox: { dims: [4], dtype: "i32", fill: { values: [1, 2, 3, 4] } },
    },
  };

  it.each([
    { id: "group_norm", result: "y", operand: "stats", each: statistics },
    { id: "sampler_step", result: "next", operand: "coefficients", each: step },
    { id: "sampler_step", result: "next", operand: "philox", each: drawn },
  ] as const)("$id: $result over $operand is refused", async ({ each, ...pair }) => {
    await expect(compiled((await sharing(pair, "exact", [each]))!, pair.id)).rejects.toThrow(
      /expected memory that holds no other operand, or exactly one of the same shape, got a part of that of /,
    );
  });
});
