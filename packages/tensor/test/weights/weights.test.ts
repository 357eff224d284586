import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDevice } from "@vd/kernels-native";
import { afterAll, describe, expect, test } from "vitest";
import { Eager } from "../../src/eager";
import { Weights } from "../../src/weights/weights";
import { writeSafetensors } from "../../src/weights/write-safetensors";
import { failure } from "../support/failure";
import { smallWeights } from "../support/small-weights";

const folder = mkdtempSync(join(tmpdir(), "vd-weights-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, "model.safetensors");
const f32 = (name: string, shape: number[], data: number[]) => ({
  name,
  dtype: "F32" as const,
  shape,
  data: Float32Array.from(data),
});
writeSafetensors(path, [
  f32("norm.weight", [2], [1, 2]),
  f32("norm.bias", [2], [3, 4]),
  f32("attn.to_q.weight", [2, 2], [1, 2, 3, 4]),
  f32("attn.to_k.weight", [2, 2], [5, 6, 7, 8]),
  f32("mixer.mix_factor", [1], [0.5]),
  f32("mixer.bare", [], [0.25]),
  { name: "attn.half", dtype: "F16", shape: [2, 2], data: Uint16Array.of(0x3c00, 0x4000, 0x4200, 0x4400) },
  { name: "step", dtype: "I64", shape: [1], data: BigInt64Array.of(7n) },
]);
const eager = new Eager(openDevice("cpu", { threads: 1 }));
const open = () => Weights.open(path);

describe("weights", () => {
  test("are opened in pieces, however many there are", () => {
    const many = join(folder, "many.safetensors");
    const names = Array.from({ length: 1000 }, (_, i) => `layers.${i}.weight`);
    writeSafetensors(
      many,
      names.map((name, i) => f32(name, [1], [i])),
    );
    const work = Weights.open.inPieces(many);
    let pauses = 0;
    let piece = work.next();
    for (; !piece.done; piece = work.next()) pauses++;
    expect(pauses).toBeGreaterThan(20);
    const w = piece.value;
    expect([...eager.readSync(w.tensor("layers.999.weight", [1]))]).toEqual([999]);
    expect(names.every((name) => w.has(name))).toBe(true);
  });

  test("are read in place, by checkpoint path", () => {
    const w = open().at("attn").at("to_q");
    expect(w.path).toBe("attn.to_q");
    const weight = w.tensor("weight", [2, 2]);
    expect([...eager.readSync(weight)]).toEqual([1, 2, 3, 4]);
    expect(weight.storage.kind).toBe("weights");
    expect([...eager.readSync(open().tensor("attn.half", [2, 2]))]).toEqual([1, 2, 3, 4]);
    expect([w.has("weight"), w.has("bias"), open().has("step")]).toEqual([true, false, false]);
  });

  test("below a prefix are a checkpoint of their own", () => {
    const w = open().scope("attn");
    expect(w.path).toBe("");
    expect(w.at("to_k").path).toBe("to_k");
    expect([...eager.readSync(w.at("to_k").tensor("weight", [2, 2]))]).toEqual([5, 6, 7, 8]);
  });

  test("missing keys say what would be near", () => {
    const error = failure(() => open().at("attn").tensor("to_v.weight", [2, 2]));
    expect(error.code).toBe("weights");
    expect(error.message).toMatch(
      /^\[.*model\.safetensors\] \[attn\.to_v\.weight\] expected a weight of \[2,2\], got none; nearest: attn\.to_[qk]\.weight, attn\.to_[qk]\.weight, /,
    );
    expect(error.hint).toBe(
      "The first key that does not fit: config.json and the weights must come from the same model.",
    );
    expect(failure(() => Weights.fromEntries("nothing", new Map()).tensor("a", [1])).got).toBe("none");
  });

  test("misshapen keys show both shapes", () => {
    for (const [dims, text] of [
      [[2, 3], "[2,3]"],
      [[4], "[4]"],
      [[2, 2, 1, 1], "[2,2,1,1]"],
    ] as const) {
      const error = failure(() => open().tensor("attn.to_q.weight", dims));
      expect(error).toMatchObject({ code: "weights", expected: `a shape of ${text}`, got: "[2,2]" });
      expect(error.where).toContain("[attn.to_q.weight");
    }
  });

  test("that nobody took are reported", () => {
    const w = open();
    w.tensor("norm.weight", [2]);
    w.at("norm").expectAllUsed((name) => name === "bias");
    const error = failure(() => w.expectAllUsed());
    expect(error).toMatchObject({
      code: "weights",
      where: path,
      expected: "only weights that the configuration asks for",
    });
    expect(error.got).toMatch(/^6 more: norm\.bias, attn\.to_q\.weight, attn\.to_k\.weight, …$/);
    expect(failure(() => w.at("norm").expectAllUsed()).got).toBe("1 more: norm.bias");
    w.tensor("norm.bias", [2]);
    w.at("norm").expectAllUsed();
    w.scope("norm").expectAllUsed();
  });

  test("in float64 are rounded to float32 when they are needed, and noticed", async () => {
    const wide = join(folder, "wide.safetensors");
    writeSafetensors(wide, [{ name: "wide", dtype: "F64", shape: [3], data: Float64Array.of(0.1, -2, 1e300) }]);
    const w = Weights.open(wide);
    const wanted = [Math.fround(0.1), -2, Number.POSITIVE_INFINITY];
    expect([...eager.readSync(w.tensor("wide", [3]))]).toEqual(wanted);
    expect(w.notices).toEqual([`${wide}: weights stored in float64 are rounded to float32, 1 in all: wide.`]);
    const aside = Weights.open(wide).tensor("wide", [3]);
    await aside.storage.fill?.();
    expect([...eager.readSync(aside)]).toEqual(wanted);
  });

  test("may be single numbers, with or without a dimension", () => {
    expect(open().at("mixer").scalar("mix_factor")).toBe(0.5);
    expect(open().scalar("mixer.bare")).toBe(0.25);
    expect(failure(() => open().scalar("norm.weight"))).toMatchObject({ expected: "a shape of [1]", got: "[2]" });
    expect(failure(() => open().scalar("mixer.mix_facto")).got).toContain("nearest: mixer.mix_factor");
    const { weights, plain } = smallWeights({ s: [1] }, { dtype: "bf16" });
    expect(weights.scalar("s")).toBeCloseTo(plain.s!.data[0]!, 1);
  });
});

describe("stackRows", () => {
  test("puts weights under each other, once", () => {
    const w = open().at("attn");
    const both = w.stackRows(["to_q.weight", "to_k.weight"], [2, 2]);
    expect(both.dims).toEqual([4, 2]);
    expect([...eager.readSync(both)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(w.stackRows(["to_q.weight", "to_k.weight"], [2, 2])).toBe(both);
    expect([...eager.readSync(w.stackRows(["to_k.weight", "to_q.weight"], [2, 2]))]).toEqual([5, 6, 7, 8, 1, 2, 3, 4]);
  });

  test("stacks vectors, and counts its parts as used", () => {
    const w = open().at("norm");
    expect([...eager.readSync(w.stackRows(["weight", "bias"], [2]))]).toEqual([1, 2, 3, 4]);
    w.expectAllUsed();
  });

  test("converts weights of different types to float32, off the event loop or at once, and notices it", async () => {
    for (const fills of [true, false]) {
      const w = open();
      const both = w.at("attn").stackRows(["to_q.weight", "half"], [2, 2]);
      if (fills) await both.storage.fill?.();
      const half = w.at("attn").tensor("half", [2, 2]);
      expect([...eager.readSync(both)]).toEqual([1, 2, 3, 4, ...eager.readSync(half)]);
      expect(w.notices).toEqual([
        `${path}: attn.to_q.weight+attn.half have different types (f32, f16) and are used as f32.`,
      ]);
    }
  });

  test("wants one shape", () => {
    const w = open().at("attn");
    expect(failure(() => w.stackRows(["to_q.weight", "to_k.weight"], [2, 3])).got).toBe("[2,2]");
  });
});

describe("stacked weights", () => {
  test("are copied once when they are first needed, off the event loop or at once", async () => {
    const stacked = () => open().at("attn").stackRows(["to_q.weight", "to_k.weight"], [2, 2]).storage;
    const aside = stacked();
    await Promise.all([aside.fill?.(), aside.fill?.()]);
    const { buffer } = aside.place!;
    await aside.fill?.();
    expect(aside.place!.buffer).toBe(buffer);
    const bytes = (storage: typeof aside) => storage.place!.buffer.readSync(new Uint8Array(storage.bytes));
    expect(bytes(aside)).toEqual(bytes(stacked()));
  });
});
