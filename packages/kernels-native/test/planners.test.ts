import { execFile, spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = spawnSync(compiler, ["--version"]).status === 0;

/** Whose planners are asked: those that have a choice. */
const OPS = [
  ...[
    "attention",
    "attention_backward",
    "attention_f8",
    "attention_f8_codes",
    "conv",
    "conv_q8",
    "copy",
    "elementwise",
    "frames_out",
    "group_norm",
  ],
  ...[
    "conv_q8_codes",
    "group_norm_conv",
    "group_norm_conv_q8",
    "group_norm_stats",
    "layer_norm",
    "layer_norm_linear",
    "layer_norm_linear_q8",
    "layer_norm_linear_q8_codes",
    "layer_norm_q8",
    "linear",
    "linear_q8",
    "linear_q8_codes",
    "pointwise",
    "quantize",
    "resize",
  ],
  ...["rms_norm", "sampler_step", "token_embed"],
];

/** Both tiles of a kind of kernel, the guess first, then the plain kernel of its op. */
const tiles = (kind: string, { small = false, scalar = "" } = {}) => {
  const names = ["m128n128", "m64n64"].map((tile) => `${kind}_${tile}${scalar}`);
  return [...(small ? names.reverse() : names), `${kind.split("_")[0]}_plain_f32`];
};

/** What a planner found for one row. */
interface Found {
  /** Variants that it can have, the guess first. */
  variants: string[];
  /** Why it cannot have others, by name. */
  rejected: Record<string, string>;
}

describe.skipIf(!hasCompiler)("planners (needs a C++ compiler)", () => {
  let folder = "";
  const known = new Map<number, Record<string, Found>>();
  /** What was found for each row on an architecture. */
  const found = (smVersion: number): Record<string, Found> => {
    const before = known.get(smVersion);
    if (before) return before;
    const { stdout, status, stderr } = spawnSync(join(folder, "candidates"), [`${smVersion}`], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    const rows: Record<string, Found> = {};
    for (const line of stdout.trimEnd().split("\n")) {
      const [row, name, reason] = line.split("\t") as [string, string, string];
      rows[row] ??= { variants: [], rejected: {} };
      if (reason) rows[row].rejected[name] = reason;
      else rows[row].variants.push(name);
    }
    known.set(smVersion, rows);
    return rows;
  };
  /** Variants of each row on an architecture. */
  const candidates = (smVersion: number) =>
    Object.fromEntries(Object.entries(found(smVersion)).map(([row, { variants }]) => [row, variants]));
  const rejected = (smVersion: number, row: string) => found(smVersion)[row]!.rejected;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "vd-planners-"));
    const planning = readdirSync(here("../native/cuda/planning")).filter((name) => name.endsWith(".cc"));
    const sources = [
      here("planners/candidates.cc"),
      ...planning.filter((name) => name !== "planners.cc").map((name) => here(`../native/cuda/planning/${name}`)),
      ...OPS.flatMap((op) => {
        const names = readdirSync(here(`../ops/${op}`)).filter((name) => name.endsWith(".cuda.cc"));
        return names.map((name) => here(`../ops/${op}/${name}`));
      }),
    ];
    const objects = await Promise.all(
      sources.map(async (source, i) => {
        const object = join(folder, `${i}.o`);
        await promisify(execFile)(compiler, ["-std=c++20", "-c", "-o", object, source]);
        return object;
      }),
    );
    await promisify(execFile)(compiler, ["-o", join(folder, "candidates"), ...objects]);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  describe("for float32", () => {
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

    test("load one by one what 16 bytes do not divide", () => {
      const rows = candidates(80);
      expect(rows["linear odd"]).toEqual(tiles("linear_tf32x2", { small: true, scalar: "_scalar" }));
      expect(rows["conv 4 channels"]).toEqual(tiles("conv_tf32x3"));
      expect(rows["conv 3 channels"]).toEqual(tiles("conv_tf32x3", { scalar: "_scalar" }));
    });

    test("stay plain where values and gates cannot be interleaved by eight", () => {
      expect(candidates(80)["linear geglu of 38"]).toEqual(["linear_plain_f32"]);
    });

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

    test("of sm_75 are the plain ones", () => {
      for (const [row, variants] of Object.entries(candidates(75)))
        if (/^(linear|conv|attention) /.test(row))
          for (const variant of variants) expect(variant).toMatch(/_plain_f32/);
    });
  });

  describe("for attention", () => {
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

  describe("say why a row does not have a variant", () => {
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

    test("of attention divide keys where tiles of queries are fewer than multiprocessors", () => {
      const rows = candidates(90);
      expect(rows["half attention of 80 tiles"]!.slice(0, 2)).toEqual(["sm90_split_d64", "sm90_split_d64x2"]);
      expect(rows["invariant half attention of 80 tiles"]![0]).toBe("sm90_d64");
      expect(rows["invariant half attention of 80 tiles"]!.join()).not.toContain("split");
      expect(rows["half attention of 128 tiles"]![0]).toBe("sm90_block_d64");
      expect(rejected(90, "half attention d40 to 77")).toMatchObject({ sm90_split_d48: "is for more than 256 keys" });
    });

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

    test("only if they are asked", () => {
      expect(candidates(90).silent).toEqual(["0"]);
    });
  });
});
