import fc from "fast-check";
import type { Addon, BufferBinding, NativeDevice, NativeProgram } from "../../src/addon-types";
import type { EncodedCase } from "./encode-case";
import { note } from "./journal";
import { outcome, type Tally } from "./outcome";

/** What replaces a word: a special number, a small change, a word from elsewhere, or half and double. */
const INTERESTING = [
  -1,
  0,
  1,
  2,
  3,
  4,
  5,
  8,
  16,
  17,
  64,
  255,
  256,
  4095,
  4096,
  65536,
  2 ** 24,
  2 ** 31,
  2 ** 32,
  2 ** 46,
  2 ** 53,
  9e15,
  1e18,
  1e300,
  -2,
  -(2 ** 31),
  0.5,
  -0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.MIN_VALUE,
  -0,
];

const change = fc.record({
  at: fc.nat(100_000),
  from: fc.nat(100_000),
  how: fc.constantFrom("set", "add", "swap", "scale", "remove", "insert", "repeat"),
  value: fc.constantFrom(...INTERESTING),
});

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The words with one change. */
function changed(words: readonly number[], { at, from, how, value }: Change): number[] {
  const result = [...words];
  const i = at % result.length;
  const other = result[from % result.length]!;
  if (how === "set") result[i] = value;
  else if (how === "add") result[i]! += from % 2 === 0 ? 1 : -1;
  else if (how === "swap") result[i] = other;
  else if (how === "scale") result[i]! *= from % 2 === 0 ? 2 : 0.5;
  else if (how === "remove") result.splice(i, 1 + (from % 3));
  else if (how === "insert") result.splice(i, 0, value);
  else result.push(...words.slice(0, 1 + (from % words.length)));
  return result;
}

const mutation = fc.record({
  base: fc.nat(100_000),
  second: fc.option(fc.nat(100_000), { freq: 4 }),
  changes: fc.array(change, { minLength: 0, maxLength: 3 }),
  oneBuffer: fc.integer({ min: 0, max: 2 }).map((n) => n === 0),
  flipConstant: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  freeFirst: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  device: fc.nat(10),
  fill: fc.constantFrom(0, 1, 63, 127, 128, 255),
  after: fc.constantFrom("run", "run", "run", "twice", "cancel", "free", "write"),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

/** Encodes a case, its blocks numbered from `firstBlock`. */
export type Encoder = (firstBlock: number) => EncodedCase;

/** Two programs behind each other, the second one's blocks behind the first one's. */
function joined(first: Encoder, second: Encoder | undefined): EncodedCase {
  const a = first(0);
  if (!second) return a;
  const b = second(a.blocks.length);
  return { name: `${a.name} + ${b.name}`, words: [...a.words, ...b.words], blocks: [...a.blocks, ...b.blocks] };
}

/** All tensors in one buffer makes them overlap, the offsets of packed sequences with results included. */
function bindings(
  addon: Addon,
  program: EncodedCase,
  { oneBuffer, flipConstant, fill, freeFirst }: Mutation,
): BufferBinding[] {
  const shared = addon.allocateBuffer(Math.max(...program.blocks.map(({ bytes }) => bytes)));
  const list = program.blocks.map(({ bytes, constant }) => ({
    buffer: oneBuffer ? shared : addon.allocateBuffer(bytes),
    constant: constant !== flipConstant,
  }));
  for (const { buffer } of list) buffer.fillSync(fill);
  if (freeFirst) list[0]!.buffer.freeSync();
  return list;
}

async function use(
  program: NativeProgram,
  buffers: BufferBinding[],
  after: Mutation["after"],
  tally: Tally,
): Promise<void> {
  const first = outcome(tally, () => program.run(after === "twice"));
  if (after === "twice") await outcome(tally, () => program.run(false));
  if (after === "cancel") await outcome(tally, () => program.cancel());
  if (after === "free") await outcome(tally, () => program.freeSync());
  if (after === "write") for (const { buffer } of buffers) await outcome(tally, () => buffer.fillSync(127));
  await first;
  if (after !== "free") await outcome(tally, () => program.info);
}

/** Compiles valid programs with a few words changed, and runs those that pass the checks. */
export async function fuzzPrograms(
  addon: Addon,
  cases: readonly Encoder[],
  tally: Tally,
  numRuns: number,
  seed: number,
): Promise<{ compiled: number; ran: number }> {
  const isas = ["best", "plain", "avx2"];
  const devices: NativeDevice[] = isas.map((isa) =>
    addon.openDevice({ threads: 2, isa, math: "exact", reference: false }),
  );
  devices.push(addon.openDevice({ threads: 2, isa: "best", math: "exact", reference: true }));
  let [compiled, ran] = [0, 0];
  const property = fc.asyncProperty(mutation, async (each) => {
    const at = (index: number) => cases[index % cases.length]!;
    const program = joined(at(each.base), each.second === null ? undefined : at(each.second));
    const words = each.changes.reduce(changed, program.words);
    const buffers = bindings(addon, program, each);
    const device = devices[each.device % devices.length]!;
    note("compile and run", program.name, { ...each, words, blocks: program.blocks });
    compiled++;
    const made = await outcome(tally, () =>
      device.compile(Float64Array.from(words), { text: program.name, count: 1 }, buffers),
    );
    if (made) {
      ran++;
      await use(made as NativeProgram, buffers, each.after, tally);
    }
    if (compiled % 256 === 0) globalThis.gc?.();
  });
  await fc.assert(property, { numRuns, seed, endOnFailure: true });
  return { compiled, ran };
}
