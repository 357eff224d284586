import { describe, expect, test } from "vitest";
import type { Planners } from "./program";

/** What is found for products in 8 bits. */
export function testProductsIn8Bits({ candidates, rejected }: Planners): void {
  describe("for products in 8 bits", () => {
    test.each([
      ["float8", "p"],
      ["int8", ""],
    ])("of Hopper split reductions of %s where tiles are few", (type, promoted) => {
      const variants = (row: string) => candidates(90)[`${type} ${row}`]!;
      expect(variants("conv of 1280 by 8")[0]).toMatch(new RegExp(`^sm90_split[2-8]_m128n\\d+${promoted}$`));
      expect(variants("linear of 77 tokens")[0]).toMatch(new RegExp(`^sm90_split[2-8]_m128n\\d+${promoted}$`));
      expect(variants("linear in blocks")[0]).toMatch(/^sm90_split[2-8]_m128n128b$/);
      expect(variants("conv of 1280 by 512")[0]).not.toContain("split");
      const splits = (row: string) => variants(row).filter((name) => name.includes("split"));
      const tiles = ["m128n64", "m128n128", "m128n160", "m128n256"].map((tile) => `${tile}${promoted}`);
      expect(splits("conv of 1280 by 8").map((name) => name.replace(/^sm90_split\d_/, ""))).toEqual(
        expect.arrayContaining(tiles),
      );
      expect(splits("conv of 1280 by 8")).toHaveLength(4);
      for (const row of ["linear geglu", "linear of one block", "invariant conv of 1280 by 8"])
        expect(splits(row)).toEqual([]);
    });

    test("say why reductions of 8 bits are not split", () => {
      const invariant =
        "is chosen by the number of results and adds up in an order of its own, the plan is batch-invariant";
      expect(rejected(90, "float8 conv of 1280 by 8")).toMatchObject({
        sm90_split_m128n64: "promotes no float8 sums",
        sm90_split_m128n128b: "is for scales of blocks",
      });
      expect(rejected(90, "int8 conv of 1280 by 8")).toMatchObject({ sm90_split_m128n64p: "is for float8" });
      expect(rejected(90, "float8 linear in blocks")).toMatchObject({
        sm90_split_m128n64p: "has no scales of blocks",
      });
      expect(rejected(90, "float8 linear of one block")).toMatchObject({
        sm90_split_m128n64p: "splits a reduction of two blocks or more",
      });
      expect(rejected(90, "float8 linear geglu")).toMatchObject({ sm90_split_m128n64p: "has no gated activation" });
      expect(rejected(90, "int8 invariant conv of 1280 by 8")).toMatchObject({ sm90_split_m128n64: invariant });
      expect(rejected(90, "half conv of 1280 by 8")).toMatchObject({ sm90_split_m128n64p: "is for 8-bit operands" });
    });

    test("leave codes of gated activations in tiles of their own, of the type of x", () => {
      for (const type of ["float8", "int8"]) {
        const symbol = type === "int8" ? "i8" : "f8e4m3";
        const portable = ["m128n128", "m64n64"].map((tile) => `linear_q8_mma_${symbol}_${tile}`);
        expect(candidates(90)[`${type} codes`]).toEqual(["sm90_m128n128pc", ...portable, `linear_q8_plain_${symbol}`]);
        expect(candidates(90)[`${type} codes of the other type`]![0]).toBe(portable[0]);
        expect(candidates(80)[`${type} codes`]!.at(-1)).toBe(`linear_q8_plain_${symbol}`);
      }
      expect(rejected(90, "float8 codes of the other type")).toMatchObject({
        sm90_m128n128pc: "leaves codes of the type of x",
        sm90_m256n128p: "leaves no codes of such results",
      });
      expect(rejected(90, "int8 linear geglu").sm90_m128n128pc).toBe("leaves codes");
      // It wrote 8 bytes behind each row of 200.
      expect(rejected(90, "float8 codes of 200 columns").sm90_m128n128pc).toBe(
        "y has 200 channels, which 16 does not divide",
      );
    });

    test("add up 1280 channels of float8 as one sum, and no more", () => {
      const one = (row: string) => candidates(90)[row]!.includes("sm90_m128n160ps");
      expect([one("float8 linear of 1280"), one("float8 linear of 1408")]).toEqual([true, false]);
      expect(candidates(90)["int8 codes of 1408"]![0]).toBe("sm90_m128n128pc");
      expect(rejected(90, "float8 codes of 1408").sm90_m128n128pc).toBe(
        "adds up at most 10 blocks of 128 float8 products, there are 11",
      );
    });

    test("of one scale for a tensor hold it where a cluster has room", () => {
      expect(candidates(90).quantize).toEqual(["quantize_held_f16", "quantize_known_vector"]);
      expect(candidates(80).quantize).toEqual(["quantize_known_vector"]);
      const held = (row: string) => rejected(90, row)["quantize_held_*"];
      expect(held("quantize a large tensor")).toMatch(/^needs \d+ bytes of shared memory, a block has 106496$/);
      expect(held("quantize 4 channels")).toBe("moves 16 bytes at a time");
      expect(held("quantize rows")).toBe("finds one scale for the tensor");
    });

    test.each(["float8", "int8"])("of %s find moments of results on the way, too", (type) => {
      const rows = (name: string) => candidates(90)[`${type} ${name}`]!;
      const isFloat = type === "float8",
        wide = isFloat ? "w" : "pw";
      const onTheWay = ["sm90_m128n192p", `sm90_m128n256${wide}`, `sm90_m256n128${wide}`];
      expect(rows("measured conv").slice(0, 4)).toEqual(expect.arrayContaining(onTheWay));
      expect(rows("measured conv").length).toBeGreaterThan(4);
      expect(rows("invariant measured conv")).toEqual([`sm90_m128n256${wide}`]);
      // Filters of up to 128 channels of float8 stay in shared memory.
      expect(rows("invariant measured conv of 128")).toEqual([
        isFloat ? "sm90_stationary_m128n128" : "sm90_m256n128pw",
      ]);
      expect(rows("invariant measured conv of 320")).toEqual([isFloat ? "sm90_m128n160w" : "sm90_m128n160p"]);
      expect(rows("invariant measured conv over frames")).toEqual([isFloat ? "sm90_m256n128w" : "sm90_m256n128pw"]);
    });

    test.each(["float8", "int8"])("of %s that double rows and columns are four phases", (type) => {
      const row = (name: string, smVersion = 90) => candidates(smVersion)[`${type} ${name}`]!;
      const reasons = (name: string) => rejected(90, `${type} ${name}`);
      const wide = ["sm90_m128n256", "sm90_m256n128"].map((tile) => `${tile}${type === "float8" ? "w" : "pw"}`);
      for (const name of ["doubling conv", "measured doubling conv"]) expect(row(name).slice(0, 2)).toEqual(wide);
      // Which tile is chosen does not depend on how many frames there are.
      expect(row("invariant measured doubling conv")).toEqual([wide[0]]);
      expect(reasons("doubling conv with a residual")[wide[0]!]).toBe("has no residual where it upsamples");
      expect(row("doubling conv with a residual")[0]).toBe("sm90_m256n128p");
      expect(reasons("doubling conv of 320")[wide[0]!]).toBe("upsamples where boxes cover rows and columns");
      expect(reasons("doubling conv").sm90_m128n128psp).toMatch(/^(has no upsampling|is for float8)$/);
      expect(row("doubling conv").filter((name) => /\dps/.test(name))).toEqual([]);
      // Codes are made of sums one by one, in tiles that may have an activation or operands of any type.
      expect(reasons("doubling conv to codes")[wide[0]!]).toBe("leaves no codes of such results");
      expect(row("doubling conv to codes")[0]).toMatch(/^sm90_/);
      // Four launches of one name elsewhere.
      const [name, plain] =
        type === "int8" ? ["i8", "conv_q8_phase_plain_i8"] : ["f8e4m3", "conv_q8_phase_plain_f8e4m3"];
      expect(row("doubling conv", 89)).toEqual([
        ...["m128n128", "m64n64"].map((tile) => `conv_q8_phase_mma_${name}_${tile}`),
        plain,
      ]);
      expect(row("doubling conv", 80).at(-1)).toBe(plain);
      expect(row("doubling conv", 80)).toHaveLength(type === "int8" ? 3 : 1);
    });
  });
}
