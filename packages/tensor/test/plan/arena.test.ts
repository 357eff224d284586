import { ARENA_ALIGNMENT_BYTES, openDevice } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Eager } from "../../src/eager";
import { Graph, makeStorage } from "../../src/graph";
import { placeBlocks } from "../../src/plan/arena";
import { layoutGraph } from "../../src/plan/layout";
import { arenaLifetimes, type Lifetime } from "../../src/plan/lifetimes";
import { compile } from "../../src/plan/plan";
import { channelRange, type Tensor } from "../../src/tensor";

const align = (bytes: number) => Math.ceil(bytes / ARENA_ALIGNMENT_BYTES) * ARENA_ALIGNMENT_BYTES;

/** Storage ids alive while row `row` runs, found by looking at every row: the plain meaning of a lifetime. */
function aliveAt(graph: Graph, row: number): Map<number, number> {
  const alive = new Map<number, number>();
  const touched = (index: number) =>
    [...graph.rows[index]!.inputs, ...graph.rows[index]!.outputs].filter(
      (t) => t?.storage.kind === "arena",
    ) as Tensor[];
  for (let before = 0; before <= row; before++)
    for (const { storage } of touched(before)) {
      const neededLater = graph.rows.some(
        (_, after) => after >= row && touched(after).some((t) => t.storage === storage),
      );
      const isOutput = [...graph.outputs.values()].some((t) => t.storage === storage);
      if (neededLater || isOutput) alive.set(storage.id, storage.bytes);
    }
  return alive;
}

/** What no arena can be below: the most bytes that are alive at once. */
function lowerBound(graph: Graph): number {
  const sums = graph.rows.map((_, row) =>
    [...aliveAt(graph, row).values()].reduce((sum, bytes) => sum + align(bytes), 0),
  );
  return Math.max(0, ...sums);
}

/** One step of a random graph: which op, on which earlier tensors, how wide its result is. */
const step = fc.record({
  op: fc.constantFrom("unary", "binary", "widen", "join", "inPlace"),
  a: fc.nat(1000),
  b: fc.nat(1000),
  width: fc.integer({ min: 1, max: 40 }),
  isOutput: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
});
const steps = fc.array(step, { minLength: 1, maxLength: 14 });

const ACTS = ["none", "silu", "gelu", "quick_gelu"] as const;

/** Records random steps on `x`; `filter` makes weights. Every result of `join` is filled in two parts. */
function record(
  g: Graph,
  given: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
  x: Tensor,
  filter: (rows: number, columns: number) => Tensor,
): void {
  const made = [x];
  given.forEach(({ op, a, b, width, isOutput }, i) => {
    const first = made[a % made.length]!;
    const channels = first.dims[3]!;
    const same = made.filter((t) => t.dims[3] === channels);
    const second = same[b % same.length]!;
    let y: Tensor;
    if (op === "unary") y = g.pointwise({ a: first, act: ACTS[b % 4]! });
    else if (op === "binary") y = g.pointwise({ a: first, b: second, aScale: 0.5, bScale: 0.25 });
    else if (op === "widen") y = g.linear({ x: first, weight: filter(width, channels) });
    else if (op === "inPlace" && first !== x) y = g.pointwise({ a: first, act: "silu", aScale: 0.5, out: first });
    else {
      y = g.empty([1, 1, 3, 2 * channels]);
      g.copy({ x: first, out: channelRange(y, 0, channels) });
      g.copy({ x: second, out: channelRange(y, channels, 2 * channels) });
    }
    made.push(y);
    if (isOutput || i === given.length - 1) g.output(`y${i}`, y);
  });
}

const recorded = (given: Parameters<typeof record>[1]) =>
  layoutGraph((g) => {
    const x = g.input("x", [1, 1, 3, 8]);
    record(g, given, x, (rows, columns) => g.constant(new Float32Array(rows * columns), [rows, columns]));
  });

describe("the arena", () => {
  test("never overlaps tensors that are alive together, in 1,500 random graphs", () => {
    const property = fc.property(steps, (given) => {
      const { graph, byteOffsets, memory } = recorded(given);
      graph.rows.forEach((_, row) => {
        const blocks = [...aliveAt(graph, row)].map(([id, bytes]) => ({ begin: byteOffsets.get(id)!, bytes }));
        blocks.sort((a, b) => a.begin - b.begin);
        blocks.forEach(({ begin, bytes }, i) => {
          expect(begin % ARENA_ALIGNMENT_BYTES).toBe(0);
          expect(begin + bytes).toBeLessThanOrEqual(blocks[i + 1]?.begin ?? memory.arenaBytes);
        });
      });
      expect(memory.arenaBytes).toBeGreaterThanOrEqual(lowerBound(graph));
    });
    fc.assert(property, { seed: 11, numRuns: 1_500 });
  });

  test("gives what the same rows give with a block for each tensor, in 150 random graphs", async () => {
    const device = openDevice("cpu", { threads: 1 });
    const values = Float32Array.from({ length: 24 }, (_, i) => Math.sin(i));
    const weights = (rows: number, columns: number) =>
      Float32Array.from({ length: rows * columns }, (_, i) => Math.cos(7 * i) / Math.sqrt(columns));
    const property = fc.asyncProperty(steps, fc.boolean(), async (given, inArena) => {
      const eager = new Eager(device);
      const wanted: Record<string, Float32Array> = {};
      const shared = await compile(device, (g) =>
        record(g, given, g[inArena ? "arenaInput" : "input"]("x", [1, 1, 3, 8]), (r, c) =>
          g.constant(weights(r, c), [r, c]),
        ),
      );
      // State lives for ever, so no block is used twice.
      const separate = await compile(device, (g) => {
        let made = 0;
        const own = Object.assign(g, { empty: (dims: readonly number[]) => g.state(`s${made++}`, dims) });
        record(own, given, g.input("x", [1, 1, 3, 8]), (r, c) => eager.tensor(weights(r, c), [r, c], "f32", true));
      });
      for (const plan of [separate, shared]) {
        plan.writeSync("x", values);
        await plan.run();
      }
      for (const name of shared.layout.graph.outputs.keys()) wanted[name] = separate.readSync(name);
      for (const [name, numbers] of Object.entries(wanted)) expect(shared.readSync(name), name).toEqual(numbers);
      expect(separate.memory.arenaBytes).toBe(0);
      shared.freeSync();
      separate.freeSync();
    });
    await fc.assert(property, { seed: 12, numRuns: 150 });
  });

  test("is as small as can be for a chain: two blocks", () => {
    const { memory } = layoutGraph((g) => {
      let h = g.input("x", [1, 1, 16, 16]);
      for (let i = 0; i < 20; i++) h = g.pointwise({ a: h, act: "silu" });
      g.output("y", h);
    });
    expect(memory.arenaBytes).toBe(2 * 16 * 16 * 4);
  });

  test("takes an input into the two blocks of a chain where it may", () => {
    const { memory } = layoutGraph((g) => {
      let h = g.arenaInput("x", [1, 1, 16, 16]);
      for (let i = 0; i < 20; i++) h = g.pointwise({ a: h, act: "silu" });
      g.output("y", h);
    });
    expect(memory).toMatchObject({ arenaBytes: 2 * 16 * 16 * 4, ioBytes: 0 });
  });

  test("places any lifetimes without overlap and in whole alignments", () => {
    const life = fc.record({ bytes: fc.integer({ min: 1, max: 5000 }), first: fc.nat(30), length: fc.nat(10) });
    const property = fc.property(fc.array(life, { maxLength: 40 }), (lives) => {
      const lifetimes = lives.map(
        ({ bytes, first, length }): Lifetime => ({
          storage: makeStorage("arena", bytes, "t"),
          first,
          last: first + length,
        }),
      );
      const { byteOffsets, bytes } = placeBlocks(lifetimes);
      for (const a of lifetimes)
        for (const b of lifetimes) {
          const [from, to] = [byteOffsets.get(a.storage.id)!, byteOffsets.get(b.storage.id)!];
          expect(from + a.storage.bytes).toBeLessThanOrEqual(bytes);
          const together = a.first <= b.last && b.first <= a.last;
          if (a !== b && together) expect(from + a.storage.bytes <= to || to + b.storage.bytes <= from).toBe(true);
        }
    });
    fc.assert(property, { seed: 13, numRuns: 300 });
  });
});

describe("lifetimes", () => {
  test("go from the first row that touches a block to the last", () => {
    const g = new Graph();
    const x = g.input("x", [1, 1, 2, 4]);
    const both = g.empty([1, 1, 2, 8]);
    g.copy({ x, out: channelRange(both, 0, 4) });
    const other = g.pointwise({ a: x });
    g.copy({ x: other, out: channelRange(both, 4, 8) });
    g.pointwise({ a: both });
    const lives = arenaLifetimes(g).map(({ storage, first, last }) => [storage === both.storage, first, last]);
    expect(lives).toEqual([
      [true, 0, 3],
      [false, 1, 2],
      [false, 3, 3],
    ]);
  });

  test("of outputs go beyond the last row; state, io and weights have none", () => {
    const g = new Graph();
    const y = g.pointwise({ a: g.input("x", [1, 1, 2, 4]), out: g.state("s", [1, 1, 2, 4]) });
    g.output("y", g.pointwise({ a: y, b: g.constant(new Float32Array(8), [1, 1, 2, 4]) }));
    g.pointwise({ a: y });
    expect(arenaLifetimes(g).map(({ first, last }) => [first, last])).toEqual([
      [1, 3],
      [2, 2],
    ]);
  });

  test("of inputs in the arena begin with the first row, whichever reads them", () => {
    const g = new Graph();
    const [late, never] = ["late", "never"].map((name) => g.arenaInput(name, [1, 1, 2, 4])) as [Tensor, Tensor];
    const y = g.pointwise({ a: g.input("x", [1, 1, 2, 4]) });
    const z = g.pointwise({ a: y, b: late });
    const lives = arenaLifetimes(g).map(({ storage, first, last }) => [storage, first, last]);
    expect(lives).toEqual([
      [late.storage, 0, 1],
      [never.storage, 0, 0],
      [y.storage, 0, 1],
      [z.storage, 1, 1],
    ]);
  });

  test("of outputs that no row fills are their own", () => {
    const { memory, byteOffsets, graph } = layoutGraph((g) => g.output("y", g.empty([1, 1, 2, 4])));
    expect(memory.arenaBytes).toBe(ARENA_ALIGNMENT_BYTES);
    expect(byteOffsets.get(graph.outputs.get("y")!.storage.id)).toBe(0);
  });
});
