import { describe, expect, it } from "vitest";
import { OPS, type OpCases, type OpDefinition, type OpId, slotsOf } from "../contract/index";
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

async function casesOf(id: OpId): Promise<OpCases["correctness"]> {
  const module = await import(new URL(`${id}/${id}.cases.ts`, folder).href);
  return ((module.default.default ?? module.default) as OpCases).correctness;
}

/** A program in which the result begins a few bytes behind the operand, in its memory; undefined where no case has both. */
async function overlapping({ id, result, operand }: (typeof pairs)[number]) {
  const op: OpDefinition = OPS[id];
  const names = [...Object.keys(op.inputs), ...Object.keys(op.outputs)];
  const begin = 1 + Object.values(op.attrs).reduce((sum, spec) => sum + slotsOf(spec), 0);
  const placeOf = (name: string) => begin + WORDS_OF_TENSOR * names.indexOf(name);
  for (const each of await casesOf(id)) {
    const { words, blocks } = encodeCase(id, each);
    const [to, from] = [words[placeOf(operand)]!, words[placeOf(result)]!];
    if (to < 0 || from < 0) continue;
    const [shared, own] = [blocks[to]!, blocks[from]!];
    words[placeOf(result)] = to;
    const shift = 16 * Math.floor(shared.bytes / 32);
    words[placeOf(result) + 1]! += shift;
    blocks[to] = { bytes: Math.max(shared.bytes, own.bytes + shift), constant: false };
    return { words, blocks };
  }
  return undefined;
}

describe("a result in the memory of an operand that is read while it is written", () => {
  it("is there to be tested for ops that gather", () => {
    for (const id of ["attention", "conv", "linear", "pool", "resize", "layout_in"])
      expect(pairs.map((pair) => pair.id)).toContain(id);
  });

  it.each(pairs)("$id: $result over $operand is refused", async (pair) => {
    const program = await overlapping(pair);
    if (program === undefined) throw new Error(`no case of ${pair.id} has both ${pair.result} and ${pair.operand}`);
    const buffers = program.blocks.map(({ bytes, constant }) => ({ buffer: addon.allocateBuffer(bytes), constant }));
    const compiled = device.compile(Float64Array.from(program.words), [pair.id], buffers);
    await expect(compiled).rejects.toThrow(/expected memory that holds no other operand, got that of /);
  });
});
