import { describe, expect, test } from "vitest";
import type { Planners } from "./program";

/** What is found for attention. */
export function testAttention({ candidates, rejected }: Planners): void {
  describe("for attention", () => {
    test("of attention suit few frames, and few tokens", () => {
      const first = (row: string) => candidates(90)[row]![0];
      expect(first("half attention over two frames")).toBe("attention_few_f16");
      expect(first("half attention of 64 tokens")).toBe("sm90_block_d48");
    });

    test("of attention over codes suit what a sequence runs over", () => {
      const rows = (row: string) => candidates(90)[`float8 attention ${row}`]!;
      expect(rows("over tokens")).toEqual(["sm90_d64", "plain"]);
      expect(rows("over 25 frames")).toEqual(["attention_f8_time_f16_f32", "plain"]);
      expect(rows("over 14 frames")).toEqual(["attention_f8_time_f16_f16", "plain"]);
      expect(rows("over tokens to codes")).toEqual(["sm90_d64", "plain"]);
      expect(rows("over 25 frames to codes")).toEqual(["attention_f8_time_f8e4m3_f32", "plain"]);
      for (const row of ["over tokens d40", "over 40 frames", "of odd rows"]) expect(rows(row)).toEqual(["plain"]);
      expect(candidates(80)["float8 attention over tokens"]).toEqual(["plain"]);
      expect(candidates(80)["float8 attention over 25 frames"]).toEqual(["attention_f8_time_f16_f32", "plain"]);
      const reasons = (row: string) => rejected(90, `float8 attention ${row}`);
      expect(reasons("over tokens d40").sm90_d64).toBe("is for heads of 64, the row has heads of 40");
      expect(reasons("of odd rows").sm90_d64).toMatch(/^q has pixels 968 elements apart/);
      expect(reasons("over 40 frames")["attention_f8_time_*"]).toBe("is for 1 to 32 keys, the row has 40");
    });

    test("of attention suit the head, and fit the smallest shared memory", () => {
      const rows = candidates(86);
      expect(rows["attention d40"]).toEqual(["attention_tf32x3_d64", "attention_plain_f32_d64"]);
      expect(rows["attention d80"]).toEqual(["attention_tf32x3_d128", "attention_plain_f32_d512"]);
      expect(rows["attention d160"]).toEqual(["attention_tf32x3_d256", "attention_plain_f32_d512"]);
      expect(rows["attention d512"]).toEqual(["attention_tf32x3_d512", "attention_plain_f32_d512"]);
      expect(rows["attention 25 tokens"]).toEqual(["attention_plain_f32_d64", "attention_tf32x3_d64"]);
    });

    test("within windows have kernels of their own on every architecture", () => {
      const names = (smVersion: number) =>
        ["f32", "f16", "bf16"].map((type) => candidates(smVersion)[`window of ${type}`]);
      const all = [
        ["attention_local_plain_f32_d64"],
        ["attention_local_f16_d64", "attention_local_plain_f16_d512"],
        ["attention_local_bf16_d64", "attention_local_plain_bf16_d512"],
      ];
      expect(names(80)).toEqual(all);
      expect(names(90)).toEqual(all.map((own, i) => (i === 0 ? own : ["sm90_range_d48", "sm90_range_d48x3", ...own!])));
      expect(names(75)).toEqual([all[0], all[1], ["attention_local_plain_bf16_d512"]]);
      expect(rejected(90, "window of f16").sm90_d48).toBe("has no window");
      expect(rejected(90, "window of f16")["attention_mma_*"]).toBe("has no window");
    });

    test("on Hopper go to warpgroups whose rows begin at different times where heads are large and keys not many", () => {
      const first = (dim: number, keys: number) => candidates(90)[`half attention d${dim} to ${keys}`]![0];
      expect(candidates(90)["invariant half attention d40 to 77"]![0]).toBe("sm90_staggered_d48");
      expect(first(80, 77)).toBe("sm90_staggered_d80");
      expect(first(80, 2048)).toBe("sm90_staggered_d80");
      expect(first(80, 4096)).toBe("sm90_range_d80");
      expect(first(96, 4096)).toBe("sm90_range_d96");
      expect(first(128, 1024)).toBe("sm90_staggered_d128");
      expect(first(128, 4096)).toBe("sm90_range_d128");
      expect(candidates(90)["half attention d128 to 4096"]).toContain("sm90_block_d128");
      expect(candidates(90)["half attention d128 to 512"]!.slice(0, 2)).toEqual([
        "sm90_staggered_d128",
        "sm90_block_d128",
      ]);
      expect(rejected(90, "causal attention")["sm90_block_*"]).toBe("has no causal mask");
    });

    test("on Hopper have four warpgroups for slim heads where their rounds have no more rows", () => {
      const first = (name: string) => candidates(90)[`half attention d40 ${name}`]![0];
      expect(first("to 77")).toBe("sm90_slim_d40");
      expect(first("to 4096")).toBe("sm90_slim_d40");
      // 152 tiles of 256 rows are two rounds of 100 multiprocessors, and so are 200 tiles of 192.
      expect(first("of 4800")).toBe("sm90_d48");
      expect(candidates(90)["invariant half attention d40 to 77"]).toContain("sm90_slim_d40");
      expect(candidates(90)["half attention d64"]!.join()).not.toContain("slim");
    });

    test("on Hopper take small blocks for heads above 128, and divide their keys", () => {
      expect(candidates(90)["half attention d160 to 77"]![0]).toBe("sm90_block_d160");
      expect(candidates(90)["half attention d160 to 4096"]!.slice(0, 2)).toEqual([
        "sm90_split_d160",
        "sm90_block_d160",
      ]);
      expect(rejected(90, "half attention d160 to 77")["sm90_staggered_*"]).toBe(
        "is for heads of at most 128, the row has heads of 160",
      );
    });

    test("on Hopper have three warpgroups for small heads where their rounds take less time", () => {
      const ranges = (row: string) => candidates(90)[row]!.filter((name) => name.startsWith("sm90_range"));
      expect(ranges("half attention d40 to 4096")).toEqual(["sm90_range_d48x3", "sm90_range_d48"]);
      expect(ranges("half attention d40 of 512")).toEqual(["sm90_range_d48", "sm90_range_d48x3"]);
    });

    test("on Hopper go to tensor cores that read shared memory, whatever part of the keys rows see", () => {
      const rows = candidates(90);
      expect(rows["causal attention"]![0]).toBe("sm90_range_d128");
      expect(rows["boxes of attention"]![0]).toBe("sm90_masked_d64");
      expect(rows["causal attention d512"]![0]).toBe("sm90_masked_d512");
      expect(rows["half attention d64"]!.slice(0, 3)).toEqual([
        "sm90_block_d64",
        "sm90_staggered_d64",
        "sm90_range_d64",
      ]);
      expect(rows["half attention d40"]![0]).toBe("sm90_block_d48");
      expect(rows["half attention d512"]!.slice(0, 2)).toEqual(["sm90_d512", "sm90_masked_d512"]);
      expect(rejected(90, "causal attention d512").sm90_d512).toBe("has no causal mask");
      const why = rejected(90, "boxes of attention");
      expect(why["sm90_range_*"]).toBe("has no window of rows or columns");
      expect(why.sm90_masked_d512).toBe("is for larger heads than 64");
      expect(rejected(90, "causal attention")["sm90_masked_*"]).toBe(
        "has neither a mask nor a window of rows or columns",
      );
      expect(rejected(80, "causal attention")).toMatchObject({ "sm90_range_*": "needs compute capability 9.0" });
    });

    test("and its gradients suit the head and the type", () => {
      const rows = candidates(86);
      expect(rows["gradients of f32"]).toEqual(["attention_backward_plain_f32_d64"]);
      expect(rows["gradients of f16"]).toEqual(["attention_backward_f16_d64", "attention_backward_plain_f16_d512"]);
      expect(rows["gradients d160"]).toEqual(["attention_backward_plain_f16_d512"]);
      expect(candidates(75)["gradients of bf16"]).toEqual(["attention_backward_plain_bf16_d512"]);
    });

    test("launch what is asked for of the gradients, and need no memory for it", () => {
      const sums = "0 attention_backward_delta_f16";
      expect(candidates(80)["gradients by v"]).toEqual([`${sums} attention_backward_dkv_f16_d64`]);
      expect(candidates(80)["gradients by nothing"]).toEqual([sums]);
    });

    test("have none for operands of several types or more rows than a grid counts", () => {
      expect(candidates(90)["attention of two types"]).toEqual([]);
      expect(rejected(90, "attention of two types")).toEqual({ "attention_*": "k has another element type than q" });
      expect(rejected(90, "gradients of two types")["attention_backward_*"]).toBe("dq has another element type than q");
      expect(rejected(90, "attention of many rows")["attention_*"]).toBe("is for at most 2147483647 blocks of rows");
    });

    test("read heads that are changed first from the workspace", () => {
      const staged = (smVersion: number) => candidates(smVersion).staged;
      const first = "25600, attention_heads_f16 +0 +12800";
      expect(staged(80)).toContain(`attention_mma_f16_d64 ${first}, attention_mma_f16_d64 +0 +12800`);
      expect(staged(90)).toContain(`sm90_d64 ${first}, attention_sm90_f16_d64 map+0 map+12800`);
    });
  });

  describe("say why a row of attention does not have a variant", () => {
    test("of attention divide keys where tiles of queries are fewer than multiprocessors", () => {
      const rows = candidates(90);
      expect(rows["half attention of 80 tiles"]!.slice(0, 2)).toEqual(["sm90_split_d64", "sm90_split_d64x2"]);
      expect(rows["invariant half attention of 80 tiles"]![0]).toBe("sm90_d64");
      expect(rows["invariant half attention of 80 tiles"]!.join()).not.toContain("split");
      expect(rows["half attention of 128 tiles"]![0]).toBe("sm90_block_d64");
      expect(rejected(90, "half attention d40 to 77")).toMatchObject({ sm90_split_d48: "is for more than 256 keys" });
    });

    test("of attention by head, axis and type", () => {
      for (const smVersion of [75, 80, 90])
        expect(rejected(smVersion, "half attention d40")).toMatchObject({
          "attention_time_f16_*": "is for attention over time",
          "attention_tf32x3_*": "is for f32",
          attention_mma_f16_d32: "is for heads of at most 32, the row has heads of 40",
          attention_mma_f16_d80: "is for larger heads than 40",
          attention_plain_f16_d64: "is for f32",
        });
      expect(rejected(90, "half attention d40")).toMatchObject({
        sm90_d32: "is for heads of at most 32, the row has heads of 40",
        sm90_d64: "is for larger heads than 40",
      });
      expect(rejected(80, "attention d40")["attention_mma_f32_*"]).toBe("is for 16-bit types");
    });
  });
}
