import { describe, expect, test } from "vitest";
import type { Planners } from "./program";

/** What is found for expressions, small ops and little memory. */
export function testOthers({ candidates, rejected, found }: Planners): void {
  describe("say why a row of expressions, small ops and little memory does not have a variant", () => {
    test("of expressions by program, types and addresses", () => {
      const variants = (row: string) => found(80)[row]!.variants;
      const any = ["elementwise_f16_compiled", "elementwise_f16_program"];
      expect(variants("gated residual")).toEqual(["elementwise_f16_add_product", ...any]);
      expect(variants("gated residual, other names")).toEqual(["elementwise_f16_add_product", ...any]);
      expect(variants("gated residual odd")).toEqual(["elementwise_scalar"]);
      expect(variants("gated residual mixed")).toEqual(["elementwise_vector"]);
      expect(variants("seldom expression")).toEqual(any);
      expect(variants("seldom expression, few")).toEqual([...any].reverse());
      expect(variants("seldom expression without text")).toEqual(["elementwise_f16_program"]);
      expect(rejected(80, "seldom expression without text").elementwise_f16_compiled).toBe(
        "needs the text of kernels beside the device code",
      );
      expect(rejected(80, "gated residual mixed")).toEqual({
        "elementwise_f16_*": "b has another element type than y",
        elementwise_f16_compiled: "b has another element type than y",
        elementwise_f16_program: "b has another element type than y",
      });
      expect(rejected(80, "seldom expression")).toEqual({
        "elementwise_f16_*": "is for expressions that have kernels of their own",
      });
      const odd = "y has 641 channels, which 8 does not divide";
      expect(rejected(80, "gated residual odd")).toEqual({
        "elementwise_f16_*": odd,
        elementwise_f16_compiled: odd,
        elementwise_f16_program: odd,
        elementwise_vector: odd,
      });
    });

    test("of sampler_step wait for each other to threshold, as many blocks as run at once", () => {
      const rows = candidates(90);
      expect(rows.sampler_step).toEqual(["sampler_step_scalar"]);
      expect(rows["sampler_step clipped"]).toEqual(["sampler_step_data"]);
      // Counts of three passes, then the data predictions.
      expect(rows["sampler_step of 72 lines"]).toEqual(["sampler_step_threshold 100 3711232 resident"]);
      expect(rows["sampler_step of 1 lines"]).toEqual(["sampler_step_threshold 13 76032 resident"]);
    });

    test("where it takes too much working memory, unless nothing takes less", () => {
      const reason = (mebibytes: number) => `needs ${mebibytes} MiB of working memory, the limit is 256 MiB`;
      const { limited, "limited alone": alone } = found(80);
      expect(limited).toEqual({
        variants: ["needs_100"],
        rejected: { needs_312: reason(312), needs_400: reason(400) },
      });
      expect(alone).toEqual({ variants: ["needs_312"], rejected: { needs_400: reason(400) } });
    });
  });
}
