import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = spawnSync(compiler, ["--version"]).status === 0;

/** Both tiles of a kind of kernel, the guess first, then the plain kernel of its op. */
const tiles = (kind: string, { small = false, scalar = "" } = {}) => {
  const names = ["m128n128", "m64n64"].map((tile) => `${kind}_${tile}${scalar}`);
  return [...(small ? names.reverse() : names), `${kind.split("_")[0]}_plain_f32`];
};

describe.skipIf(!hasCompiler)("kernels for float32 (needs a C++ compiler)", () => {
  let folder = "";
  /** Variants of each row on an architecture. */
  const candidates = (smVersion: number) => {
    const { stdout, status, stderr } = spawnSync(join(folder, "candidates"), [`${smVersion}`], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    const rows = stdout.trim().split("\n");
    return Object.fromEntries(rows.map((row) => [row.split("\t")[0]!, row.split("\t")[1]!.split(" ")]));
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "vd-planners-"));
    const device = readdirSync(here("../device")).filter((name) => /^plan.*\.cc$/.test(name));
    const sources = [
      here("planners/candidates.cc"),
      ...device.map((name) => here(`../device/${name}`)),
      ...["attention", "conv", "linear"].map((op) => here(`../ops/${op}/${op}.cuda.cc`)),
    ];
    const built = spawnSync(compiler, ["-std=c++20", "-o", join(folder, "candidates"), ...sources], {
      encoding: "utf8",
    });
    if (built.status !== 0) throw new Error(built.stderr);
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("go to tensor cores from sm_80 on, with two products where weights are of 16 bits", () => {
    for (const smVersion of [80, 86, 90, 120]) {
      const rows = candidates(smVersion);
      expect(rows["linear f32"]).toEqual(tiles("linear_tf32x3"));
      expect(rows["linear f16"]).toEqual(tiles("linear_tf32x2"));
      expect(rows["linear bf16"]).toEqual(tiles("linear_tf32x2"));
      expect(rows["conv f16"]).toEqual(tiles("conv_tf32x2"));
    }
  });

  test("take small tiles first where large ones would leave processors idle", () => {
    expect(candidates(80)["linear few tokens"]).toEqual(tiles("linear_tf32x3", { small: true }));
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

  test("of attention suit the head, and fit the smallest shared memory", () => {
    const rows = candidates(86);
    expect(rows["attention d40"]).toEqual(["attention_tf32x3_d64", "attention_plain_f32_d64"]);
    expect(rows["attention d80"]).toEqual(["attention_tf32x3_d128", "attention_plain_f32_d512"]);
    expect(rows["attention d160"]).toEqual(["attention_tf32x3_d256", "attention_plain_f32_d512"]);
    expect(rows["attention d512"]).toEqual(["attention_tf32x3_d512", "attention_plain_f32_d512"]);
    expect(rows["attention 25 tokens"]).toEqual(["attention_plain_f32_d64", "attention_tf32x3_d64"]);
  });

  test("of sm_75 are the plain ones", () => {
    for (const variants of Object.values(candidates(75)))
      for (const variant of variants) expect(variant).toMatch(/_plain_f32/);
  });
});
