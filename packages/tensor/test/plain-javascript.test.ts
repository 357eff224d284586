// What a caller without types may give in place of tensors, devices, options and numbers.
import { allocateBuffer, isVdError, openDevice } from "@vd/kernels-native";
import { describe, expect, it, test } from "vitest";
import {
  channelRange,
  clipRange,
  compile,
  conv,
  decodeStored,
  eager,
  elementwise,
  frameRange,
  Graph,
  groupNorm,
  layerNorm,
  linear,
  openCheckpoint,
  Plan,
  pixels,
  planesToPixels,
  quantizeWeight,
  randomWeights,
  recordOp,
  reshape,
  streamSafetensors,
  tokens,
  writeSafetensors,
  writeWholeFile,
} from "../src/index";

const device = openDevice("cpu", { threads: 1 });
const e = eager(device);
const x = e.tensor([1, 2, 3, 4], [1, 1, 2, 2]);
const any = (value: unknown) => value as never;

const loaded = () =>
  compile(device, (g) => {
    const a = g.input("x", [1, 1, 2, 2]);
    g.output("y", g.pointwise({ a, aScale: 2 }));
    g.output("left", channelRange(g.pointwise({ a }), 0, 1));
  });

/** The error of a call that throws, or whose promise is rejected. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("views", () => {
  it.each([undefined, null, "x", 5, {}, { ...x, pitch: undefined }, { ...x, byteOffset: -4 }, { ...x, pitch: 0.5 }])(
    "of %j are refused in a sentence",
    (value) => {
      const views = { channelRange, clipRange, frameRange } as const;
      for (const [name, view] of Object.entries(views))
        expect(() => view(any(value), 0, 1)).toThrow(`[${name}] expected a tensor, got `);
      expect(() => reshape(any(value), [1])).toThrow("[reshape] expected a tensor, got ");
      expect(() => tokens(any(value))).toThrow("[tokens] expected a tensor, got ");
      expect(() => pixels(any(value), 1, 1)).toThrow("[pixels] expected a tensor, got ");
    },
  );

  it.each([[[-1, -2, 2]], [[0.5, 4, 2]], [[true, 2, 2]], ["x"], [undefined]])("of the sizes %j are refused", (dims) => {
    expect(() => reshape(x, any(dims))).toThrow("[reshape] expected sizes that are whole numbers of at least 1");
  });

  test("of pixels that are no whole numbers are refused", () => {
    expect(() => pixels(x, -1, -2)).toThrow("[reshape] expected sizes");
    expect(() => pixels(x, 0.5, 4)).toThrow("[reshape] expected sizes");
  });
});

describe("what is no device, recording, plan, signal or object of options", () => {
  it.each([
    ["eager", () => eager(any("cpu")), '[eager] expected a device, got "cpu". openDevice opens one.'],
    ["compile", () => compile(any(null), () => {}), "[compile] expected a device, got null"],
    ["recording", () => compile(device, any(undefined)), "[graph] expected a function that records it, got undefined"],
    ["options", () => compile(device, () => {}, any(null)), "[graph] expected an object of options, got null"],
    ["plan", () => Plan.load(any({}), any({})), "[plan] expected a device, got object"],
    ["taps", () => new Graph({ taps: any("a") }), "[graph taps] expected a Set of names, got a"],
    [
      "recordOp",
      () => recordOp(new Graph(), any("Conv"), any({})),
      '[recordOp] expected the id of an op, got "Conv". Nearest: conv',
    ],
    ["name", () => new Graph().input(any(5), [1]), "[io] expected a name as a text, got number"],
    ["output", () => new Graph().output("y", any({})), "[output] [y] expected a tensor, got object"],
    ["run", async () => (await loaded()).run(any("fast")), "[run] expected an object of options, got string"],
    [
      "signal",
      async () => (await loaded()).run({ signal: any(new AbortController()) }),
      "[run] [signal] expected an AbortSignal, got object",
    ],
    [
      "copyFrom",
      async () => (await loaded()).copyFrom("x", any({}), "y"),
      "[plan] [x] expected another plan to copy from, got object",
    ],
    [
      "copyIn",
      async () => (await loaded()).copyIn("x", any(undefined), { from: 0, to: 0, bytes: 4 }),
      "[copyFrom source] expected a buffer of allocateBuffer, mapFile, Device.allocate or Device.allocateHost, got undefined",
    ],
    [
      "copied bytes",
      async () => (await loaded()).copyIn("x", allocateBuffer(16), { from: 0, to: any(undefined), bytes: 4 }),
      "[plan] [x] expected bytes of the 16 of f32[1,1,2,2], got 4 from undefined on",
    ],
  ] as const)("%s is refused in a sentence", async (_, call, expected) => {
    expect(String(await errorOf(call))).toContain(expected);
  });
});

describe("what is wrong inside options and configurations", () => {
  const w = randomWeights().at("layer");
  const config = { cin: 8, cout: 8, kernel: [1, 3, 3] as [number, number, number] };
  it.each([
    [
      "weights",
      () => conv(any({}), config),
      "[conv w] expected weights, got an object. Weights.open reads those of a file",
    ],
    [
      "a text for a number",
      () => linear(w, { cin: any("8"), cout: 8 }),
      '[linear] [cin] expected a whole number from 1, got "8"',
    ],
    [
      "NaN",
      () => groupNorm(w, { channels: Number.NaN, eps: 1e-5 }),
      "[groupNorm] [channels] expected a whole number from 1, got NaN",
    ],
    ["a fraction", () => linear(w, { cin: 1.5, cout: 8 }), "[linear] [cin] expected a whole number from 1, got 1.5"],
    [
      "a negative number",
      () => layerNorm(w, { channels: 8, eps: -1 }),
      "[layerNorm] [eps] expected a finite number from 0, got -1",
    ],
    [
      "null",
      () => conv(w, { ...config, stride: any(null) }),
      "[conv] [stride] expected a list of 3, each a whole number from 1, got null",
    ],
    [
      "a short list",
      () => conv(w, { ...config, kernel: any([3, 3]) }),
      "[conv] [kernel] expected a list of 3, each a whole number from 1, got [3, 3]",
    ],
    [
      "a type that is none",
      () => quantizeWeight(x, { dtype: any("f16") }),
      '[quantizeWeight] [dtype] expected one of f8e4m3, i8, got "f16"',
    ],
    [
      "an array of another kind",
      () => decodeStored(any(new Uint16Array(2)), "f32"),
      "[decodeStored] expected a Uint8Array, got Uint16Array",
    ],
    [
      "a part of an element",
      () => decodeStored(new Uint8Array(3), "f16"),
      "[decodeStored] expected whole elements of f16, got 3 bytes",
    ],
    [
      "an array that is short",
      () => planesToPixels(new Float32Array(3), [1, 1, 2, 2], new Float32Array(4)),
      "[planesToPixels values] expected 4 numbers, got 3",
    ],
    ["options", () => openCheckpoint("model", any(null)), "[openCheckpoint] expected an object of options, got null"],
    [
      "a function",
      () => streamSafetensors("out", [], { onWritten: any(5) }),
      "[streamSafetensors] [onWritten] expected a function, got 5",
    ],
    ["an entry", () => writeSafetensors("out", any([null])), "[tensors] expected an object of options, got null"],
    ["contents", () => writeWholeFile("out", any(5)), "[writeWholeFile contents] expected a text or bytes, got 5"],
    ["a graph", () => recordOp(any(null), "copy", any({ x })), "[recordOp g] expected a graph, got null"],
    [
      "a name",
      () => new Graph().pointwise({ a: x, name: any(5) }),
      "[pointwise] expected a name as a text, got number",
    ],
  ] as const)("%s is refused in a sentence", async (_, call, expected) => {
    const error = await errorOf(call);
    expect(isVdError(error)).toBe(true);
    expect(String(error)).toContain(expected);
  });
});

describe("numbers", () => {
  it.each([
    [["a", "b", "c", "d"], '"a" at place 0'],
    ["1234", '"1" at place 0'],
    [[1, undefined, 3, 4], "nothing at place 1"],
    [{ length: 4 }, "nothing at place 0"],
    [[1n, 2n, 3n, 4n], "bigint at place 0"],
    [new BigInt64Array(4), "bigint at place 0"],
  ])("%o are refused, and nothing is written", async (data, got) => {
    const plan = await loaded();
    plan.writeSync("x", [1, 2, 3, 4]);
    expect(() => plan.writeSync("x", any(data))).toThrow(`[x] expected numbers, got ${got}`);
    await expect(plan.write("x", any(data))).rejects.toThrow(`[x] expected numbers, got ${got}`);
    await plan.run();
    expect([...plan.readSync("y")]).toEqual([2, 4, 6, 8]);
    await plan.free();
  });

  test("of a type of whole numbers may be flags or of any length", () => {
    expect([...e.readSync(e.tensor(any([true, false]), [2], "u8"))]).toEqual([1, 0]);
    expect([...e.readSync(e.tensor(any([7n, -1n]), [2], "i32"))]).toEqual([7, -1]);
  });
});

test("the bytes of an output with gaps are refused, as they are not its elements' alone", async () => {
  const plan = await loaded();
  await expect(plan.readBytes("left")).rejects.toThrow("[plan] [left] expected a packed tensor, got a pitch of 2");
  expect((await plan.readBytes("y")).length).toBe(16);
  await plan.free();
});

describe("an expression", () => {
  const g = new Graph();
  const input = g.input("x", [1, 1, 2, 2]);

  it("that is no function is refused in a sentence", () => {
    const expected = "expected a function that returns the expression, such as (e) => e.add(x, y), got";
    for (const [build, got] of [[undefined, "undefined"] as const, [5, "5"] as const, [input, "an object"] as const])
      expect(() => elementwise(g, any(build))).toThrow(`[expression] [elementwise] ${expected} ${got}`);
  });

  it.each([null, 5, {}])("for %j, which records nothing, is refused in a sentence", (wrong) => {
    expect(() => elementwise(any(wrong), (f) => f.abs(input))).toThrow("expected a Graph to record in, got ");
  });

  it("is refused with options and parts that are none", () => {
    expect(() => elementwise(g, (f) => f.abs(input), any(null))).toThrow("expected options as an object, got null");
    expect(() => elementwise(g, () => any({ instruction: "abs" }))).toThrow("expected finite numbers, tensors and");
  });
});
