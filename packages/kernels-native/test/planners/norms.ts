import { describe, expect, test } from "vitest";
import type { Planners } from "./program";

/** What is found for norms. */
export function testNorms({ candidates, rejected, found }: Planners): void {
  describe("for norms", () => {
    test("of norms hold rows that clusters have room for", () => {
      expect(candidates(90).group_norm).toEqual(["held", "vector"]);
      expect(candidates(90)["group_norm of many rows"]).toEqual(["vector", "held"]);
      expect(candidates(90)["invariant group_norm"]).toEqual(["vector"]);
      expect(candidates(80).group_norm).toEqual(["vector"]);
      expect(rejected(90, "group_norm of a large row").held).toBe(
        "holds rows in the registers of 8 blocks, they have 262144 pixels",
      );
      expect(rejected(90, "group_norm of groups of two").held).toBe(
        "is for groups of 4, 8 or more channels, they have 2",
      );
    });
  });

  describe("say why a row of norms does not have a variant", () => {
    test("of few rows have weights of their own type, or float32, ready", () => {
      expect(found(90)["layer_norm few"]!.variants[0]).toBe("layer_norm_f16_f16_ready_l32c5");
      expect(found(90)["layer_norm few, float32 weights"]!.variants[0]).toBe("layer_norm_f16_f32_ready_l32c5");
      const reason = (name: string, kernel: string) => found(90)[name]!.rejected[kernel];
      expect(reason("layer_norm few, other weights", "layer_norm_f16_bf16_ready_l32c5")).toBe(
        "weight is neither of x's type nor float32",
      );
      expect(reason("layer_norm of many rows", "layer_norm_f16_f16_ready_l32c5")).toBe(
        "is for 8192 rows at most, x has 8193",
      );
    });

    test("of many rows that become codes stay for several each, where nothing is behind weight and bias", () => {
      const own = ["layer_norm_q8_f16_l32c5", "layer_norm_q8_f16_block"];
      expect(found(90)["layer_norm_q8 of 6398 rows"]!.variants).toEqual([...own, "layer_norm_q8_f16_many_l32c5"]);
      expect(found(90)["layer_norm_q8 of 6400 rows"]!.variants).toEqual(["layer_norm_q8_f16_many_l32c5", ...own]);
      const { variants, rejected } = found(90)["layer_norm_q8 shifted"]!;
      expect(variants).toEqual(own);
      expect(rejected["layer_norm_q8_f16_many_*"]).toBe("has nothing behind weight and bias");
    });

    test("of norms of tokens by what follows them and the length of rows", () => {
      const { variants, rejected } = found(80)["layer_norm bare"]!;
      expect(variants).toEqual(["layer_norm_modulated_f16_l16c5", "layer_norm_modulated_f16_block"]);
      expect(rejected["layer_norm_f16_*"]).toBe("has weight and bias");
      expect(found(80)["layer_norm scale on gaps"]!.variants).toEqual(["layer_norm_modulated_f16_block"]);
      expect(found(80)["layer_norm scale on gaps"]!.rejected.layer_norm_modulated_f16_l16c5).toBe(
        "scale has pixels 644 elements apart, which 8 does not divide",
      );
      expect(found(80).rms_norm!.variants).toEqual(["rms_norm_bf16_l32c12", "rms_norm_bf16_block"]);
      expect(found(80).rms_norm!.rejected.rms_norm_bf16_l32c8).toBe("holds 2048 channels, a row has 3072");
    });

    test("of norms and of kernels that take eight elements a thread", () => {
      const rows = found(80);
      const odd = "x has pixels 321 elements apart, which 8 does not divide";
      expect(rows["group_norm odd"]).toEqual({
        variants: ["scalar"],
        rejected: { vector: odd, held: "needs compute capability 9.0" },
      });
      expect(rows["group_norm_stats odd"]).toEqual({ variants: ["scalar"], rejected: { vector: odd } });
      expect(rows.group_norm!.rejected).toHaveProperty("scalar");
      expect(rows.layer_norm).toEqual({
        variants: ["layer_norm_f16_f16_ready_l16c5", "layer_norm_f16_l16c5", "layer_norm_f16_block"],
        rejected: {
          layer_norm_f16_l8c5: "holds 320 channels, a row has 640",
          layer_norm_f16_l32c5: "has more room than a row needs",
          layer_norm_f16_l32c8: "has more room than a row needs",
        },
      });
      expect(rows["pointwise odd"]!.rejected).toEqual({
        pointwise_vector: "y has 5 channels, which 8 does not divide",
      });
      expect(rows["copy gaps"]!.rejected).toEqual({
        copy_vector: "y has pixels 12 elements apart, which 8 does not divide",
      });
      expect(rows.resize!.rejected).toHaveProperty("resize_scalar");
      expect(rows.token_embed!.rejected).toEqual({ token_embed_vector: "token is not 16-byte aligned" });
      expect(rows.frames_out!.rejected).toEqual({ frames_out_wide: "takes eight elements at a time, there are 27" });
    });
  });
}
