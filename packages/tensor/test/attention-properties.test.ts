import { computeReference, numbers, tooFar } from "@vd/conformance";
import { openDevice } from "@vd/kernels-native";
import type { Plain } from "@vd/kernels-native/references";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Eager } from "../src/eager";
import type { Tensor } from "../src/tensor";
import { rejection } from "./support/failure";

/** `VD_LONG=1 pnpm vitest run attention-properties` draws many more shapes. */
const RUNS = process.env.VD_LONG === "1" ? 2000 : 40;
const runs = { numRuns: RUNS, seed: 20 };
const LIMIT = { nmse: 1e-11, worst: 1e-4 };

const eager = new Eager(openDevice("cpu", { threads: 2 }));

const sizeOf = (dims: readonly number[]) => dims.reduce((product, size) => product * size, 1);
const random = (name: string, dims: readonly number[]): Plain => ({
  dims,
  data: Float64Array.from(numbers(name, sizeOf(dims))),
});
const constant = (dims: readonly number[], value: number): Plain => ({
  dims,
  data: new Float64Array(sizeOf(dims)).fill(value),
});

type Operands = Record<string, Plain>;
type Attrs = { heads: number; scale: number } & Record<string, unknown>;
interface Call {
  operands: Operands;
  attrs: Attrs;
}

const placed = (operands: Operands): Record<string, Tensor> =>
  Object.fromEntries(
    Object.entries(operands).map(([name, { data, dims }]) => [
      name,
      eager.tensor(data, dims, /^cu/.test(name) ? "i32" : "f32"),
    ]),
  );

type Forward = Parameters<typeof eager.ops.attention>[0];
type Backward = Parameters<typeof eager.ops.attentionBackward>[0];

/** Result and log-sum-exp by the fast path. */
async function forward({ operands, attrs }: Call): Promise<{ y: Plain; lse: Plain }> {
  const { q } = operands as { q: Plain };
  const [b, f, s] = q.dims as [number, number, number];
  const lse = eager.zeros([b, f, attrs.heads, s]);
  const y = await eager.ops.attention({ ...placed(operands), ...attrs, outputs: { lse } } as unknown as Forward);
  const read = (t: Tensor): Plain => ({ dims: t.dims, data: Float64Array.from(eager.readSync(t)) });
  return { y: read(y), lse: read(lse) };
}

/** Gradients of a sum of results, each times its `dy`. */
async function backward(call: Call, dy: Plain): Promise<Record<"dq" | "dk" | "dv", Float32Array>> {
  const { y, lse } = await forward(call);
  const { q, k, v } = call.operands as { q: Plain; k: Plain; v: Plain };
  const outputs = { dq: eager.zeros(q.dims), dk: eager.zeros(k.dims), dv: eager.zeros(v.dims) };
  const given = { ...placed({ ...call.operands, y, lse, dy }), ...call.attrs, outputs };
  await eager.ops.attentionBackward(given as unknown as Backward);
  return { dq: eager.readSync(outputs.dq), dk: eager.readSync(outputs.dk), dv: eager.readSync(outputs.dv) };
}

const reach = fc.integer({ min: 0, max: 6 });

/** Calls of any shape, packed or not, with any of mask, causal limit, window, norms and rotation. */
const calls: fc.Arbitrary<Call> = fc
  .record({
    axis: fc.constantFrom("space", "time"),
    sizes: fc.tuple(...[2, 3, 2, 7, 5].map((max) => fc.integer({ min: 1, max }))),
    head: fc.constantFrom(1, 2, 3, 8, 16, 20, 32, 40),
    causal: fc.boolean(),
    mask: fc.constantFrom(undefined, "row", "all"),
    packed: fc.boolean(),
    window: fc.tuple(reach, reach, reach),
    grid: fc.constantFrom([1, 1], [2, 3], [1, 4]),
    transform: fc.boolean(),
    pairs: fc.constantFrom("adjacent", "halves"),
    scale: fc.constantFrom(0, 0.1, 1, -0.4),
  })
  .map(({ axis, sizes, head, mask, packed, grid, transform, ...attrs }) => {
    const [b, across, heads, queries, keys] = sizes as [number, number, number, number, number];
    const frame = grid[0]! * grid[1]!;
    const [numQ, numK] = [queries * frame, keys * frame];
    const dims = (along: number) =>
      axis === "time" ? [b, along, across, heads * head] : [b, across, along, heads * head];
    const operands: Operands = { q: random("q", dims(numQ)), k: random("k", dims(numK)), v: random("v", dims(numK)) };
    if (mask) operands.mask = random("mask", [b, 1, mask === "all" ? 1 : numQ, numK]);
    if (packed) {
      operands.cuQ = { dims: [4], data: Float64Array.of(0, numQ >> 1, numQ >> 1, numQ) };
      operands.cuK = { dims: [4], data: Float64Array.of(0, numK >> 2, numK >> 1, numK) };
    }
    if (transform) {
      const turned = head - (head % 2);
      Object.assign(operands, { normQ: random("normQ", [head]), normK: random("normK", [head]) });
      if (turned > 0)
        Object.assign(operands, { rotaryQ: random("rq", [numQ, turned]), rotaryK: random("rk", [numK, turned]) });
    }
    return { operands, attrs: { axis, heads, grid, ...attrs } };
  });

const wanted = ({ operands, attrs }: Call) =>
  computeReference("attention", operands, attrs as never) as { y: Plain; lse: Plain };

describe("attention of any shape", () => {
  test("is that of float64", async () => {
    await fc.assert(
      fc.asyncProperty(calls, async (call) => {
        const [got, expected] = [await forward(call), wanted(call)];
        expect(tooFar(got.y.data, expected.y.data, LIMIT)).toBe("");
        expect(tooFar(got.lse.data, expected.lse.data, LIMIT)).toBe("");
      }),
      runs,
    );
  });

  test("gives the same bits whatever the number of threads", async () => {
    const alone = new Eager(openDevice("cpu", { threads: 1 }));
    await fc.assert(
      fc.asyncProperty(calls, async ({ operands, attrs }) => {
        const call = { ...placed(operands), ...attrs } as unknown as Forward;
        const [a, b] = [await eager.ops.attention(call), await alone.ops.attention(call)];
        expect(Buffer.from(eager.readSync(a).buffer)).toEqual(Buffer.from(alone.readSync(b).buffer));
      }),
      { ...runs, numRuns: RUNS / 4 },
    );
  });

  test("has gradients of the same bits whatever the number of threads, where heads are shared by threads and where not", async () => {
    const gradients = async (threads: number, call: Call) => {
      const e = new Eager(openDevice("cpu", { threads }));
      const { q, k } = call.operands as { q: Plain; k: Plain };
      const [b, f, s] = q.dims as [number, number, number];
      const given = Object.fromEntries(
        Object.entries(call.operands).map(([name, x]) => [
          name,
          e.tensor(x.data, x.dims, /^cu/.test(name) ? "i32" : "f32"),
        ]),
      );
      const lse = e.tensor(new Float32Array(b * f * call.attrs.heads * s).fill(4), [b, f, call.attrs.heads, s]);
      const outputs = { dq: e.zeros(q.dims), dk: e.zeros(k.dims), dv: e.zeros(k.dims) };
      const delta = await e.ops.attentionBackward({ ...given, ...call.attrs, lse, outputs } as unknown as Backward);
      return [delta, ...Object.values(outputs)].map((t) => Buffer.from(e.readSync(t).buffer));
    };
    const sizes = { q: [1, 2, 209, 24], k: [1, 1, 139, 24] };
    const operands = {
      ...{ q: random("q", sizes.q), k: random("k", sizes.k), v: random("v", sizes.k) },
      ...{ y: random("y", sizes.q), dy: random("dy", sizes.q) },
    };
    const cuQ = { dims: [4], data: Float64Array.of(3, 20, 20, 199) };
    const cuK = { dims: [4], data: Float64Array.of(10, 31, 60, 130) };
    for (const heads of [1, 3])
      for (const call of [
        { operands, attrs: { causal: true, window: [70, 0, 0] } },
        { operands: { ...operands, cuQ, cuK }, attrs: { window: [3, 2, 0], grid: [4, 3] } },
      ]) {
        const each = { ...call, attrs: { heads, scale: 0.3, ...call.attrs } };
        const alone = await gradients(1, each);
        for (const threads of [2, 5]) expect(await gradients(threads, each)).toEqual(alone);
      }
  });

  test("has gradients that are those of float64", async () => {
    await fc.assert(
      fc.asyncProperty(calls, async ({ operands, attrs }) => {
        const { normQ: _, normK: __, rotaryQ: ___, rotaryK: ____, ...rest } = operands;
        const { pairs: _____, ...own } = attrs;
        const call = { operands: rest as Operands, attrs: own as Attrs };
        const dy = random("dy", call.operands.q!.dims);
        const { y, lse } = wanted(call);
        const expected = computeReference("attention_backward", { ...rest, y, lse, dy }, own as never);
        for (const [name, got] of Object.entries(await backward(call, dy)))
          expect(tooFar(got, expected[name]!.data, LIMIT)).toBe("");
      }),
      runs,
    );
  });
});

/** Two clips of three frames with two heads, packed sequences, a window. */
function packedCall(): Call {
  const dims = [2, 3, 12, 16];
  const operands = { q: random("q", dims), k: random("k", dims), v: random("v", dims) };
  const cu = { dims: [4], data: Float64Array.of(0, 3, 8, 12) };
  return { operands: { ...operands, cuQ: cu, cuK: cu }, attrs: { heads: 2, scale: 0.5, window: [4, 0, 0] } };
}

describe("what one sequence, head or clip holds", () => {
  /** Elements of [2,3,12,16] in clip b, frame f, sequence n and head h. */
  const belongs = (i: number, [b, f, n, h]: readonly number[]) => {
    const [channel, token] = [i % 16, Math.floor(i / 16) % 12];
    const sequence = token < 3 ? 0 : token < 8 ? 1 : 2;
    const [frame, clip] = [Math.floor(i / 192) % 3, Math.floor(i / 576)];
    return clip === b && frame === f && sequence === n && Math.floor(channel / 8) === h;
  };

  test("changes no bit of another's result or gradients", async () => {
    const call = packedCall();
    const dy = random("dy", [2, 3, 12, 16]);
    const before = { ...(await forward(call)), ...(await backward(call, dy)) };
    for (const part of [
      [0, 0, 0, 0],
      [1, 2, 1, 1],
      [0, 1, 2, 1],
    ]) {
      const changed = Object.fromEntries(
        Object.entries(call.operands).map(([name, { dims, data }]) => [
          name,
          { dims, data: /^cu/.test(name) ? data : data.map((x, i) => (belongs(i, part) ? 3 - x : x)) },
        ]),
      );
      const next = { operands: changed, attrs: call.attrs };
      const after = { ...(await forward(next)), ...(await backward(next, dy)) };
      for (const name of ["dq", "dk", "dv"] as const) {
        const own = before[name].findIndex((_, i) => belongs(i, part));
        expect(after[name][own]).not.toBe(before[name][own]);
        before[name].forEach((value, i) => void (belongs(i, part) || expect(after[name][i]).toBe(value)));
      }
      before.y.data.forEach((value, i) => void (belongs(i, part) || expect(after.y.data[i]).toBe(value)));
    }
  });
});

describe("simple inputs", () => {
  const dims = [1, 1, 9, 8];

  test("queries of zeros give the mean of the values", async () => {
    const v = random("v", dims);
    const { y, lse } = await forward({
      operands: { q: constant(dims, 0), k: random("k", dims), v },
      attrs: { heads: 2, scale: 1 },
    });
    for (let c = 0; c < 8; c++) {
      const mean = Array.from({ length: 9 }, (_, s) => v.data[s * 8 + c]! / 9).reduce((sum, x) => sum + x);
      for (let s = 0; s < 9; s++) expect(y.data[s * 8 + c]).toBeCloseTo(mean, 5);
    }
    for (const sum of lse.data) expect(sum).toBeCloseTo(Math.log(9), 5);
  });

  test("one-hot queries and keys with a large scale give back their own values", async () => {
    const hot: Plain = { dims: [1, 1, 8, 8], data: Float64Array.from({ length: 64 }, (_, i) => Number(i % 9 === 0)) };
    const v = random("v", [1, 1, 8, 8]);
    const { y } = await forward({ operands: { q: hot, k: hot, v }, attrs: { heads: 1, scale: 1000 } });
    expect([...y.data]).toEqual([...Float32Array.from(v.data)]);
  });

  test("scores of 1e4 and −1e4 give numbers, and so do their gradients", async () => {
    const q = random("q", dims);
    const call = {
      operands: {
        q: { dims, data: q.data.map((x) => 1e4 * Math.sign(x)) },
        k: random("k", dims),
        v: random("v", dims),
      },
      attrs: { heads: 1, scale: 1 },
    };
    const { y, lse } = await forward(call);
    const all = [
      ...y.data,
      ...lse.data,
      ...Object.values(await backward(call, random("dy", dims))).flatMap((x) => [...x]),
    ];
    expect(all.filter((x) => !Number.isFinite(x))).toEqual([]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("a score of %f makes its row NaN, and no other", async (value) => {
    const mask = constant([1, 1, 70, 70], 0);
    mask.data[70 + 40] = value;
    // A row whose every score is that: not one that sees nothing.
    mask.data.fill(value, 3 * 70, 4 * 70);
    const size = [1, 1, 70, 8];
    const given = { q: random("q", size), k: random("k", size), v: random("v", size), mask };
    const devices = [
      openDevice("cpu", { threads: 1, reference: true }),
      ...["plain", "best", ...(process.arch === "x64" ? ["amx-emulated"] : [])].map((isa) =>
        openDevice("cpu", { threads: 1, isa }),
      ),
    ];
    for (const device of devices) {
      const e = new Eager(device);
      const lse = e.zeros([1, 1, 1, 70]);
      const tensors = Object.fromEntries(Object.entries(given).map(([name, x]) => [name, e.tensor(x.data, x.dims)]));
      const y = await e.ops.attention({ ...tensors, heads: 1, scale: 1, outputs: { lse } } as unknown as Forward);
      const rows = Array.from({ length: 70 }, (_, s) => [...e.readSync(y).subarray(s * 8, s * 8 + 8)]);
      const isLost = (row: number) => row === 1 || row === 3;
      expect(rows.map((row) => row.every(Number.isNaN))).toEqual(rows.map((_, s) => isLost(s)));
      expect([...e.readSync(lse)].map(Number.isNaN)).toEqual(rows.map((_, s) => isLost(s)));
      expect(rows.every((row, s) => isLost(s) || row.every(Number.isFinite))).toBe(true);
    }
  });

  test("rows that see nothing are 0 with a log-sum-exp of −∞, and have no gradients", async () => {
    const mask = constant([1, 1, 9, 9], Number.NEGATIVE_INFINITY);
    mask.data.fill(0, 18);
    const call = {
      operands: { q: random("q", dims), k: random("k", dims), v: random("v", dims), mask },
      attrs: { heads: 1, scale: 1 },
    };
    const { y, lse } = await forward(call);
    expect([...y.data.subarray(0, 16)]).toEqual(Array(16).fill(0));
    expect([...lse.data.subarray(0, 3)]).toEqual([-Infinity, -Infinity, lse.data[2]]);
    const { dq, dk, dv } = await backward(call, random("dy", dims));
    expect([...dq.subarray(0, 16)].map(Math.abs)).toEqual(Array(16).fill(0));
    expect([...dk, ...dv].every(Number.isFinite)).toBe(true);
  });
});

describe("gradients", () => {
  test("are those of finite differences", async () => {
    const dims = { q: [1, 2, 5, 6], k: [1, 1, 7, 6], v: [1, 1, 7, 6] };
    const operands = Object.fromEntries(
      Object.entries(dims).map(([name, size]) => [name, random(name, size)]),
    ) as Operands;
    operands.mask = random("mask", [1, 2, 5, 7]);
    const call = { operands, attrs: { heads: 2, scale: 0.6, causal: true, window: [4, 0, 0] } };
    const dy = random("dy", dims.q);
    const loss = () => wanted(call).y.data.reduce((sum, y, i) => sum + y * dy.data[i]!, 0);
    for (const [name, gradient] of Object.entries(await backward(call, dy))) {
      const { data } = operands[name.slice(1)]!;
      const differences = data.map((value, i) => {
        const sides = [1e-4, -1e-4].map((step) => {
          data[i] = value + step;
          return loss();
        }) as [number, number];
        data[i] = value;
        return (sides[0] - sides[1]) / 2e-4;
      });
      expect(tooFar(gradient, differences, { nmse: 1e-9, worst: 1e-3 })).toBe("");
    }
  });

  test("that nobody asks for are not computed: only the sums of dy · y are", async () => {
    const dims = [1, 1, 4, 8];
    const operands = placed({ q: random("q", dims), k: random("k", dims), v: random("v", dims), y: random("y", dims) });
    const rest = { lse: eager.zeros([1, 1, 2, 4]), dy: eager.tensor(new Float32Array(32).fill(1), dims) };
    const delta = await eager.ops.attentionBackward({
      ...operands,
      ...rest,
      heads: 2,
      scale: 1,
    } as unknown as Backward);
    expect(delta.dims).toEqual([1, 1, 2, 4]);
    const y = eager.readSync(operands.y!);
    expect(eager.readSync(delta)[1]).toBeCloseTo(y[8]! + y[9]! + y[10]! + y[11]!, 5);
  });
});

describe("calls that make no sense are declined before anything is written", () => {
  const t = (...dims: number[]) => eager.zeros(dims);
  const rows = () => ({ q: t(1, 2, 4, 8), k: t(1, 2, 6, 8), v: t(1, 2, 6, 8), heads: 2, scale: 1 });
  test.each([
    ["heads", { heads: 3 }],
    ["mask", { mask: t(1, 2, 3, 6) }],
    ["mask", { mask: t(1, 2, 4, 1) }],
    ["mask", { mask: eager.zeros([1, 1, 1, 6], "i32") }],
    ["cuQ", { cuQ: eager.zeros([3], "i32") }],
    ["rotaryQ", { rotaryQ: t(4, 4) }],
    ["rotaryQ", { rotaryQ: t(4, 3), rotaryK: t(6, 3) }],
    ["rotaryQ", { rotaryQ: t(4, 6), rotaryK: t(6, 6) }],
    ["rotaryK", { rotaryQ: t(4, 4), rotaryK: t(5, 4) }],
    ["normQ", { normQ: t(8) }],
    ["grid", { grid: [2, 2] }],
    ["window", { window: [-1, 0, 0] }],
    ["k", { k: t(1, 3, 6, 8), v: t(1, 3, 6, 8) }],
  ])("by %s", async (where, wrong) => {
    const out = eager.tensor(new Float32Array(64).fill(7), [1, 2, 4, 8]);
    const error = await rejection(
      Promise.resolve().then(() => eager.ops.attention({ ...rows(), ...(wrong as object), out })),
    );
    expect(error.where).toContain(where);
    expect(eager.readSync(out).every((value) => value === 7)).toBe(true);
  });

  test("by results that lie over operands", async () => {
    const all = t(1, 2, 6, 24);
    const part = (first: number) => ({ ...all, dims: [1, 2, 6, 8], byteOffset: first * 4 });
    const call = { q: part(0), k: part(8), v: t(1, 2, 6, 8), heads: 2, scale: 1 };
    await eager.ops.attention({ ...call, out: part(16) });
    for (const first of [0, 4, 8, 12]) {
      const error = await rejection(eager.ops.attention({ ...call, out: part(first) }));
      expect(error).toMatchObject({ code: "layout", expected: "memory that holds no other operand" });
      expect(error.got).toBe(`that of ${first < 8 ? "q" : "k"}`);
    }
  });
});
