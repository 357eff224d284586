import { describe, expect, it } from "vitest";
import type { OpCases } from "../contract/index";
import copyCases from "../ops/copy/copy.cases";
import { allocateBuffer } from "../src/buffer";
import { type CompileOptions, openDevice } from "../src/device";
import { isVdError } from "../src/errors";
import { encodeCase } from "./addon-fuzz/encode-case";

describe("openDevice", () => {
  it("names the kinds there are for one that is none", () => {
    const open = () => openDevice("tpu" as never);
    expect(open).toThrow("[device] expected one of cpu, cuda, got tpu");
    try {
      open();
    } catch (error) {
      expect(isVdError(error) && error.code).toBe("attr");
    }
  });

  it.each([0, -1, 1.5, 1e6, Number.NaN, "two"])("refuses %s threads in one sentence", (threads) => {
    expect(() => openDevice("cpu", { threads: threads as number })).toThrow(
      `[openDevice threads] expected a whole number from 1 to 1024, got ${threads}`,
    );
  });

  it("names its option, not a function behind it, for instructions that there are not", () => {
    expect(() => openDevice("cpu", { isa: "avx1024" })).toThrow("[openDevice isa] expected best, amx, ");
  });
});

describe("compile", () => {
  const { words, blocks } = encodeCase("copy", (copyCases as OpCases).correctness[0]!);
  const bindings = blocks.map(({ bytes, constant }) => ({ buffer: allocateBuffer(bytes), constant }));
  const device = openDevice("cpu", { threads: 1 });
  const three = [...words, ...words, ...words];
  const compile = (rows: number[], names: readonly string[], options?: CompileOptions) =>
    device.compile(Float64Array.from(rows), names, bindings, options);

  it("takes a name and a variant for each row, empty ones too, or none", async () => {
    const variants = ["", "definition", ""];
    for (const names of [[], [""], ["first", "", "löst"]])
      expect((await compile(three, names, { variants, insteadOf: variants })).info.variants).toHaveLength(3);
    expect((await compile([], [], { variants: [] })).info.variants).toEqual([]);
  });

  it("calls a row by its name, or by its number where it has none", async () => {
    const wrong = [...words, ...words, -1];
    await expect(compile(wrong, ["first", "", "löst"])).rejects.toThrow(/^\[löst\] expected an integer from 0 to /);
    await expect(compile(wrong, ["first", ""])).rejects.toThrow(/^\[row 2\] expected an integer from 0 to /);
  });

  it("refuses a text with a NUL, what is none, and lists that have not one for each row", async () => {
    const [variants, code] = [["", "sm80"], "attr"];
    const nul = "expected a string without NUL, got one with NUL";
    await expect(compile(three, ["first", "sec\0ond"])).rejects.toMatchObject({
      code,
      message: `[compile names] ${nul}`,
    });
    await expect(compile(three, [], { variants: ["", "\0", ""] })).rejects.toThrow(`[compile variants] ${nul}`);
    await expect(compile(three, [], { insteadOf: ["\0"] })).rejects.toThrow(`[compile insteadOf] ${nul}`);
    const count = "expected one for each of 3 rows, got 2";
    await expect(compile(three, [], { variants })).rejects.toMatchObject({
      code,
      message: `[compile variants] ${count}`,
    });
    await expect(compile(three, [], { insteadOf: variants })).rejects.toThrow(`[compile insteadOf] ${count}`);
    await expect(compile(three, ["first", 2 as never])).rejects.toMatchObject({ code });
  });
});
