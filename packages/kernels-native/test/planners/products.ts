import { describe, expect, test } from "vitest";
import type { Planners } from "./program";

/** Both tiles of a kind of kernel, the guess first, then the plain kernel of its op. */
const tiles = (kind: string, { small = false, scalar = "" } = {}) => {
  const names = ["m128n128", "m64n64"].map((tile) => `${kind}_${tile}${scalar}`);
  return [...(small ? names.reverse() : names), `${kind.split("_")[0]}_plain_f32`];
};

/** What is found for linear layers and convolutions. */
export function testProducts({ candidates, rejected, found }: Planners): void {
  describe("for linear layers and convolutions", () => {
    test("go to tensor cores from sm_80 on, with two products where weights are of 16 bits", () => {
      for (const smVersion of [80, 86, 90, 120]) {
        const rows = candidates(smVersion);
        const own = smVersion === 90 ? ["sm90_m128n128f", "sm90_m128n64f"] : [];
        /** The variants of a row behind Hopper's own, which come first in either order. */
        const portable = (row: string) => {
          expect(rows[row]!.slice(0, own.length).sort(), row).toEqual(own);
          return rows[row]!.slice(own.length);
        };
        expect(rows["linear f32"]).toEqual(tiles("linear_tf32x3"));
        expect(portable("linear f16")).toEqual(tiles("linear_tf32x2"));
        expect(portable("linear bf16")).toEqual(tiles("linear_tf32x2"));
        expect(portable("conv f16")).toEqual(tiles("conv_tf32x2"));
      }
    });

    test("stay with the portable core on Hopper where a frame has few tiles, however many frames there are", () => {
      expect(candidates(90)["linear of few tokens a frame"]![0]).toBe("linear_tf32x2_m128n128");
      expect(candidates(90)["linear of few tokens a frame"]).toContain("sm90_m128n128f");
    });

    test("take small tiles first where large ones would leave processors idle", () => {
      expect(candidates(80)["linear few tokens"]).toEqual(tiles("linear_tf32x3", { small: true }));
    });

    test("of Hopper split the reduction where tiles are few, and name the parts", () => {
      const first = (row: string) => candidates(90)[row]![0]!;
      expect(first("half conv of 1280 by 8")).toMatch(/^sm90_split8_m128n\d+$/);
      expect(first("half linear of 77 tokens")).toMatch(/^sm90_split[2-8]_m128n\d+$/);
      expect(first("half conv of 1280 by 512")).not.toContain("split");
      const parts = candidates(90)["half conv of 1280 by 64"]!.filter((name) => name.includes("split"));
      expect(parts).toHaveLength(4);
    });

    test("find moments of results on the way where tiles cover frames, alone where bits may not depend on the batch", () => {
      const onTheWay = ["sm90_m128n128ps", "sm90_m128n160ps", "sm90_m128n160w"];
      const rows = candidates(90);
      expect(rows["measured conv"]!.slice(0, 3).sort()).toEqual(onTheWay);
      expect(rows["measured conv"]!.length).toBeGreaterThan(3);
      expect(rows["invariant measured conv"]).toEqual(["sm90_m128n160ps"]);
      expect(rows["invariant measured conv of 512"]).toEqual(["sm90_m128n256w"]);
      expect(rows["invariant measured conv over frames"]).toEqual(["sm90_m128n256w"]);
      expect(rejected(90, "invariant measured conv").sm90_m256n160).toMatch(/^is chosen by the number of results/);
      // Variants that read the result again are not held back.
      expect(rows["measured conv of odd size"]).toContain("sm90_m256n160");
      expect(rows["measured conv of two frames a tile"]).toContain("sm90_m256n160");
      expect(candidates(80)["measured conv"]).toEqual([
        "conv_mma_f16_m128n128",
        "conv_mma_f16_m64n64",
        "conv_plain_f16",
      ]);
    });

    test("of convolutions have wide tiles, where four phases have whole boxes", () => {
      const rows = candidates(90);
      for (const row of ["measured conv", "doubling conv of 512", "half conv of 1280 by 512"])
        expect(rows[row]).toContain("sm90_m128n256w");
      expect(rejected(90, "doubling conv of odd rows").sm90_m128n256w).toBe(
        "upsamples where boxes cover rows and columns",
      );
      expect(rows["float8 conv of 1280 by 512"]).toEqual(expect.arrayContaining(["sm90_m128n256w", "sm90_m256n128w"]));
      expect(rows["int8 conv of 1280 by 512"]).toEqual(expect.arrayContaining(["sm90_m128n256pw", "sm90_m256n128pw"]));
      const wide = "is for convolutions, and for linear in float8";
      expect(rejected(90, "half linear").sm90_m128n256w).toBe(wide);
      expect(candidates(90)["float8 linear of 77 tokens"]).toContain("sm90_m128n256w");
      const framed = "float8 linear with a bias for each 64 rows";
      expect(candidates(90)[framed]).toContain("sm90_m128n160w"); // a vector for each warpgroup's rows
      for (const tile of ["sm90_m256n128w", "sm90_m128n128ps"])
        expect(rejected(90, framed)[tile]).toMatch(/^has one frame bias for a tile|^adds up at most/);
      expect(candidates(90)["float8 linear with one bias"]).toContain("sm90_m256n128w");
      expect(candidates(90)["float8 conv over frames with 1 biases a clip"]).toContain("sm90_m128n160w");
      expect(rejected(90, "float8 conv over frames with 25 biases a clip").sm90_m128n160w).toBe(
        "has one frame bias for a tile, and tiles would span frames",
      );
      expect(rejected(90, "int8 conv of 1280 by 512").sm90_m128n256w).toMatch(/^has 128 sums a thread/);
      expect(rejected(90, "float8 conv of 1280 by 512").sm90_m128n256pw).toBe("is for integers");
      expect(rejected(90, "float8 conv of 1280 by 512").sm90_m128n160ps).toMatch(/^adds up at most 10 blocks/);
      expect(rejected(90, "half conv 2 groups").sm90_m128n256w).toBe("has no groups");
      expect(rejected(90, "half conv clip").sm90_m128n256w).toBe("has no past frames and repeats none");
    });

    test("of 3x3 filters that fit into a block's memory keep them there", () => {
      expect(candidates(90)["half conv of 64 to 64"]![0]).toBe("sm90_stationary_m128n64");
      expect(candidates(90)["float8 conv of 128 to 128"]![0]).toBe("sm90_stationary_m128n128");
      expect(rejected(90, "half conv of 64 to 64").sm90_stationary_m128n128).toBe("is for 8-bit operands");
      expect(rejected(90, "half conv of 8 to 320")).not.toHaveProperty("sm90_stationary_m128n64");
      expect(rejected(90, "half conv of 1280 by 512").sm90_stationary_m128n64).toBe(
        "is for up to 64 channels, x has 1280",
      );
      expect(rejected(90, "doubling conv of 512").sm90_stationary_m128n64).toBe("has no upsampling");
      for (const type of ["float8", "int8"])
        expect(rejected(90, `${type} conv of 128 to 128`).sm90_stationary_m128n64).toBe(
          "is for operands of other sizes",
        );
    });

    test("load one by one what 16 bytes do not divide", () => {
      const rows = candidates(80);
      expect(rows["linear odd"]).toEqual(tiles("linear_tf32x2", { small: true, scalar: "_scalar" }));
      expect(rows["conv 4 channels"]).toEqual(tiles("conv_tf32x3"));
      expect(rows["conv 3 channels"]).toEqual(tiles("conv_tf32x3", { scalar: "_scalar" }));
    });

    test("stay plain where values and gates cannot be interleaved by eight", () => {
      expect(candidates(80)["linear geglu of 38"]).toEqual(["linear_plain_f32"]);
    });

    test("of sm_75 are the plain ones", () => {
      for (const [row, variants] of Object.entries(candidates(75)))
        if (/^(linear|conv|attention) /.test(row))
          for (const variant of variants) expect(variant).toMatch(/_plain_f32/);
    });
  });

  describe("say why a row of linear layers and convolutions does not have a variant", () => {
    test.each([
      [75, "needs compute capability 9.0"],
      [80, "needs compute capability 9.0"],
    ])("without Hopper's instructions, sm_%i", (smVersion, reason) => {
      for (const row of ["half linear", "half conv"])
        expect(rejected(smVersion, row)).toMatchObject({ "sm90_*": reason });
      expect(rejected(smVersion, "half attention d64")).toMatchObject({ sm90_d64: reason, sm90_d512: reason });
    });

    test("without tensor cores for the type", () => {
      const reason = "needs compute capability 8.0";
      expect(rejected(75, "half linear bf16")).toMatchObject({ "linear_mma_bf16_*": reason });
      expect(rejected(75, "linear f32")).toMatchObject({ "linear_tf32x3_*": reason });
      expect(rejected(75, "conv f16")).toMatchObject({ "conv_tf32x2_*": reason });
      expect(rejected(75, "attention d40")).toMatchObject({ "attention_tf32x3_*": reason });
    });

    test("of linear and conv by type and weights", () => {
      expect(rejected(80, "linear f32")).toMatchObject({
        "linear_mma_f16_*": "is for x of f16",
        "linear_mma_bf16_*": "is for x of bf16",
        "linear_tf32x2_*": "is for weights of 16 bits",
      });
      expect(rejected(80, "conv f16")["conv_tf32x3_*"]).toBe(
        "is for weights of 32 bits: in 16 bits two products are exact",
      );
      expect(rejected(80, "linear geglu of 38")["linear_tf32x3_*"]).toBe(
        "has gated activations for multiples of 8 columns, y has 19",
      );
      expect(rejected(80, "linear odd").linear_tf32x2_m64n64).toBe(
        "x has pixels 511 elements apart, which 4 does not divide",
      );
      expect(rejected(80, "linear f16").linear_tf32x2_m64n64_scalar).toBe(
        "is for operands that cannot be moved 16 bytes at a time",
      );
    });

    test("of every tile of Hopper that is left out", () => {
      for (const row of ["half linear", "half conv", "half linear unaligned bias"]) {
        const { variants, rejected } = found(90)[row]!;
        const tiles = [...variants, ...Object.keys(rejected)].filter((name) => name.startsWith("sm90_"));
        const numTiles = row.startsWith("half linear") ? 58 : 52; // six of them turn linear products
        expect(new Set(tiles).size, row).toBe(numTiles);
        expect(tiles).toHaveLength(numTiles);
      }
      expect(rejected(90, "half conv")).toMatchObject({
        sm90_r128n160: "is for linear",
        sm90_h128n256: "is for linear",
        sm90_m128n128f: "is for operands of other sizes",
        sm90_normed_m128n256: "is for sources that are normalised on the way",
      });
      expect(rejected(90, "half linear")).toMatchObject({
        sm90_r128n128: "is for gated activations",
        sm90_m128n256s: "is for gated activations",
        sm90_normed_r128n160: "is for rows that are normalised on the way",
      });
      expect(rejected(90, "half linear unaligned bias")).toMatchObject({
        sm90_m128n256: "bias is not 16-byte aligned",
      });
      expect(found(90)["half linear unaligned bias"]!.variants).toContain("sm90_m256n32");
      expect(rejected(90, "half conv far")).toMatchObject({ "sm90_*": "has no strides above 8" });
      expect(rejected(90, "linear f32")).toMatchObject({
        "sm90_*": "x is neither of a 16-bit float type nor of float32 beside weights of 16 bits",
      });
    });

    test("of 3x3 filters whose pixels come once for all taps, where tiles are few", () => {
      const of = (row: string) => found(90)[row]!.variants.filter((name) => name.includes("bordered"));
      expect(
        of("half conv")
          .map((name) => name.replace(/\d_m/, "_m"))
          .sort(),
      ).toEqual(["sm90_bordered_m128n128", "sm90_bordered_m128n160"]);
      expect(of("half linear")).toEqual([]);
      expect(rejected(90, "half linear")).toMatchObject({ sm90_bordered_m128n160: "is for filters of 1x3x3" });
      expect(rejected(90, "half conv of 1280 by 64")).toMatchObject({
        sm90_bordered_m128n128: "is for 100 tiles at most, there are 320",
      });
    });

    test("whose order of addition follows from the number of results, in batch-invariant plans", () => {
      const reason =
        "is chosen by the number of results and adds up in an order of its own, the plan is batch-invariant";
      for (const size of [8, 64, 512]) {
        const { variants, rejected } = found(90)[`invariant conv of 1280 by ${size}`]!;
        expect(variants.filter((name) => /split|bordered/.test(name))).toEqual([]);
        expect(rejected).toMatchObject({ sm90_split_m128n64: reason, sm90_split_m128n256: reason });
        expect(rejected).toMatchObject({ sm90_bordered_m128n160: reason });
      }
    });

    test("of few tokens turn products where tiles of 128 rows would be half empty", () => {
      const [turned, narrow] = ["sm90_turned_m88n128", "sm90_turned_m32n64"];
      const of = (row: string) => found(90)[row]!.variants.filter((name) => name.includes("turned"));
      expect(found(90)["half linear of 257 tokens"]!.variants[0]).toBe(turned);
      expect(found(90)["half linear of 256 tokens"]!.variants[0]).not.toContain("turned");
      expect(of("half linear of 256 tokens")).toContain(turned);
      expect(of("half linear of 353 tokens")).toEqual([]);
      expect(of("half linear of 7168 tokens")).toEqual([narrow, "sm90_turned_m96n128", "sm90_turned_m192n64"]);
      expect(found(90)["half linear of 7168 tokens"]!.variants[0]).toBe(narrow);
      expect(of("half linear of 257 tokens, geglu")).toEqual([]);
      expect(of("invariant half linear of 257 tokens")).toEqual([]);
      expect(rejected(90, "half linear of 353 tokens")).toMatchObject({
        sm90_turned_m88n128: "is for at most 352 tokens, x has 353",
      });
      expect(rejected(90, "half linear of 257 tokens, geglu")).toMatchObject({
        sm90_turned_m88n128: "has no gated activation",
      });
    });

    test("of about as many tiles as multiprocessors share weights, unless bits may not depend on the number of tokens", () => {
      expect(found(90)["half linear of 960 tokens"]!.variants.slice(0, 2)).toEqual([
        "sm90_turned_m192n64",
        "sm90_turned_m96n128",
      ]);
      expect(found(90)["invariant half linear of 960 tokens"]!.variants).not.toContain("sm90_turned_m96n128");
    });

    test("of kernels for few channels", () => {
      for (const smVersion of [75, 80, 90]) {
        expect(rejected(smVersion, "half conv")).toMatchObject({
          conv_few_f16: "is for at most 4 output channels, there are 320",
          conv_narrow_f16: "is for at most 8 output channels, there are 320",
        });
        expect(candidates(smVersion)["half conv narrow"]![0]).toBe("conv_narrow_f16");
        expect(rejected(smVersion, "half conv narrow").conv_few_f16).toBe("is for at most 8 channels, x has 320");
        expect(candidates(smVersion)["half conv few"]![0]).toBe("conv_few_f16");
        // A frame of padding behind the clip is a frame more of results, which that kernel does not count.
        expect(candidates(smVersion)["half conv narrow padded behind"]).not.toContain("conv_narrow_f16");
      }
    });

    test("of convolutions by groups, past frames and transposing", () => {
      const variants = (row: string, smVersion = 90) => candidates(smVersion)[row]!;
      expect(variants("half conv 2 groups", 80)).toEqual([
        ...["conv_mma_f16_m64n64", "conv_mma_f16_m128n128", "conv_plain_f16", "conv_groups4_f16", "conv_groups_f16"],
      ]);
      expect(variants("half conv 2 groups")[0]).toMatch(/^sm90_/);
      expect(variants("half conv 64 groups")).toEqual([
        ...["conv_fours_3x3s1_f16", "conv_fours_3x3s1_c16_f16", "conv_groups4_f16", "conv_groups_f16"],
      ]);
      expect(rejected(90, "half conv 64 groups")).toMatchObject({
        conv_depthwise_f16: "is for a filter for every channel",
        "conv_depthwise_NxNsS_*": "is for a filter for every channel",
        "conv_groups_mma*": "is for groups of 8, 16 or 32 channels to as many, they have 4 and 4",
        "dense_*": "is for at most 32 groups, there are 64",
      });
      expect(variants("half conv depthwise", 75)).toEqual([
        ...["conv_depthwise_3x3s1_f16", "conv_depthwise_3x3s1_c16_f16", "conv_depthwise_f16", "conv_groups_f16"],
      ]);
      expect(rejected(90, "half conv depthwise")["conv_fours_NxNsS_*"]).toBe("is for groups of 4 channels to as many");
      for (const channels of [8, 16, 32]) {
        const row = `half conv groups of ${channels}`;
        expect(variants(row)[0]).toBe(`conv_groups_mma${channels}_f16`);
        expect(variants(row, 75)[0]).toBe(`conv_groups_mma${channels}_f16`);
      }
      expect(variants("bfloat conv groups of 32", 80)[0]).toBe("conv_groups_mma32_bf16");
      expect(rejected(75, "bfloat conv groups of 32")["conv_groups_mma*"]).toMatch(/compute capability 8/);
      expect(variants("half conv of 4 to 320")[0]).toBe("conv_shallow_f16");
      expect(rejected(90, "half conv of 8 to 320").conv_shallow_f16).toBe("is for at most 4 channels, x has 8");
      // Blocks of four rows where those of eight are too few.
      expect(variants("half conv of 8 to 320")[0]).toBe("conv_thin8_f16");
      expect(variants("half conv of 8 to 320, small")[0]).toBe("conv_thin8_h4_f16");
      expect(rejected(90, "half conv 2 groups")["conv_groups_mma*"]).toMatch(/they have 64 and 64$/);
      // A warp's lanes have 64 channels, unless many of them would be idle.
      expect(variants("half conv depthwise of 48")[0]).toBe("conv_depthwise_3x3s1_c16_f16");
      expect(variants("half conv clip", 80)).toContain("conv_clip_mma_f16_m128n128");
      expect(variants("half conv clip", 80).at(-1)).toBe("conv_clip_plain_f16");
      expect(variants("half conv clip")[0]).toMatch(/^sm90_/);
      expect(rejected(90, "half conv clip").sm90_m128n160ps).toBe("has no past frames and repeats none");
      expect(variants("half conv clip of 3", 80)[0]).toBe("conv_clip_few_f16");
      expect(candidates(90)["half conv clip of two types"]).toBeUndefined();
      expect(variants("half conv transposed")[0]).toMatch(/^sm90_/);
      expect(variants("half conv transposed", 80)).toContain("conv_clip_mma_f16_m128n128");
      expect(variants("half conv transposed", 80).at(-1)).toBe("conv_clip_plain_f16");
    });

    test("only if they are asked", () => {
      expect(candidates(90).silent).toEqual(["0"]);
    });
  });
}
