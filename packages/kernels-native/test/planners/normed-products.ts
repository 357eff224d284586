import { describe, expect, test } from "vitest";
import type { Planners } from "./program";

/** What is found for products behind a norm. */
export function testNormedProducts({ candidates, rejected }: Planners): void {
  describe("for products behind a norm", () => {
    test("on Hopper normalise a convolution's source on the way, and else before it", () => {
      const rows = candidates(90);
      const tiles = ["sm90_normed_m128n256", "sm90_normed_m256n128"];
      expect(rows["half norm and conv"]!.slice(0, 2).sort()).toEqual(tiles);
      expect(rows["half norm and conv"]![2]).toMatch(/^apart_sm90_/);
      expect(rows["half norm and conv, invariant"]).toEqual(["sm90_normed_m128n256"]);
      expect(rows["half norm and conv of 128, invariant"]).toEqual(["sm90_normed_m256n128"]);
      expect(rows["half norm and conv that tiles do not cover, invariant"]!.sort()).toEqual(tiles);
      for (const [name, why] of [
        ["norm and conv", "is not of a 16-bit float type"],
        ["half norm and activated conv", "has no activation but gated ones"],
      ] as const) {
        expect(rows[name]!.every((variant) => variant.startsWith("apart_"))).toBe(true);
        expect(Object.values(rejected(90, name))).toContainEqual(expect.stringContaining(why));
      }
      expect(candidates(86)["half norm and conv"]!.every((variant) => variant.startsWith("apart_"))).toBe(true);
    });

    test("on Hopper walk along the frames that filters see, where a block keeps all of those", () => {
      const rows = candidates(90);
      expect(rows["half norm and conv over frames"]![0]).toBe("sm90_walk_m128n128");
      expect(rows["half norm and conv over frames"]![1]).toMatch(/^apart_sm90_/);
      expect(rows["half norm and conv over frames, invariant"]).toEqual(["sm90_walk_m128n128"]);
      for (const [what, why] of [
        ["channels", "is for up to 128 channels, x has 192"],
        ["filters", "is for up to 128 filters, there are 192"],
      ]) {
        const name = `half norm and conv over frames of 192 ${what}`;
        expect(rows[name]!.every((variant) => variant.startsWith("apart_"))).toBe(true);
        expect(rejected(90, name).sm90_walk_m128n128).toBe(why);
      }
    });

    test("on Hopper normalise and round frames and rows on the way, and else before", () => {
      const rows = candidates(90);
      expect(rows["float8 norm and conv over frames"]![0]).toBe("sm90_walk_codes_m128n128");
      expect(rows["float8 norm and conv over frames"]![1]).toMatch(/^apart_sm90_/);
      expect(rows["float8 norm and conv over frames, invariant"]).toEqual(["sm90_walk_codes_m128n128"]);
      expect(rejected(90, "float8 norm and conv over frames of 192 channels").sm90_walk_codes_m128n128).toBe(
        "is for up to 128 channels, x has 192",
      );
      expect(rejected(90, "float8 norm and conv").sm90_walk_codes_m128n128).toBe("is for filters over frames");
      expect(rejected(90, "float8 norm and conv").sm90_normed_m128n256).toBe("is for operands of other sizes");
      expect(rows["float8 norm and linear"]![0]).toBe("sm90_normed_r128n160q");
      expect(rows["float8 norm and linear, invariant"]).toEqual(["sm90_normed_r128n160q"]);
      expect(rejected(90, "float8 norm and linear of 640").sm90_normed_r128n160q).toBe(
        "is for 320 channels, x has 640",
      );
      expect(rows["float8 norm and gated linear"]![0]).toBe("sm90_normed_r192n128c");
      expect(rejected(90, "float8 norm and gated linear, scales of rows").sm90_normed_r192n128c).toBe(
        "has one scale for all columns",
      );
      for (const name of ["conv over frames", "linear", "gated linear"])
        expect(candidates(89)[`float8 norm and ${name}`]!.every((variant) => variant.startsWith("apart_"))).toBe(true);
    });

    test("of a linear layer behind a norm are its kernels behind the norm's, which hands the tokens on", () => {
      for (const smVersion of [80, 90]) {
        const rows = candidates(smVersion);
        expect(rows["norm and linear"]).toEqual(rows["linear behind the norm"]!.map((name) => `apart_${name}`));
        const [norm, product, bytes, ...more] = rows["half norm and linear, handed on"]!;
        expect(norm).toBe("layer_norm_f16_l8c5: 1");
        expect(product).toMatch(/^linear_\S+: 1$/);
        expect(bytes).toBe(`${9216 * 320 * 2} bytes`);
        expect(more).toEqual([]);
        expect(rows["bare norm and linear, handed on"]![0]).toBe("layer_norm_modulated_f16_l8c5: 1");
        expect(rows["norm and linear, handed on"]!.at(-1)).toBe(`${100 * 2048 * 4} bytes`);
      }
      // The same bits, however many rows: few of them have their weights ready.
      for (const name of ["", ", invariant"])
        expect(candidates(90)[`norm of few and linear${name}, handed on`]![0]).toBe(
          "layer_norm_f16_f16_ready_l32c5: 1",
        );
    });
  });
}
