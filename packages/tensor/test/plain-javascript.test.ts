// What a caller without types may give in place of tensors, devices, options and numbers.
import { allocateBuffer, openDevice } from "@vd/kernels-native";
import { describe, expect, it, test } from "vitest";
import {
  channelRange,
  clipRange,
  compile,
  eager,
  elementwise,
  frameRange,
  Graph,
  Plan,
  pixels,
  recordOp,
  reshape,
  tokens,
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
