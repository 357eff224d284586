import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { addonSources, objectsOf } from "../../../build/addon/sources.mjs";

const isasOf = (path: string, arch: NodeJS.Architecture = "x64") => objectsOf(path, arch).map(({ isa }) => isa);
const flagsOf = (path: string, isa: string) => objectsOf(path, "x64").find((each) => each.isa === isa)!.flags;

describe("the addon's sources", () => {
  test("with loops of an instruction set are compiled once for each, others once", () => {
    expect(isasOf("ops/conv/cpu/winograd_kernels.simd.cc")).toEqual(["plain", "avx2", "avx512"]);
    expect(isasOf("ops/conv/cpu/conv_gather_avx512.cc")).toEqual(["avx512"]);
    expect(isasOf("ops/conv/cpu/winograd_kernels.simd.cc", "arm64")).toEqual(["neon"]);
    expect(objectsOf("ops/conv/cpu/conv_fast.cc", "x64")).toEqual([{ isa: undefined, flags: [] }]);
  });

  test("get no more than the flags of their instruction set", () => {
    expect(flagsOf("a.simd.cc", "plain")).toEqual([]);
    expect(flagsOf("a.simd.cc", "avx2")).toEqual(["-mavx2", "-mfma", "-mf16c"]);
    expect(flagsOf("a.simd.cc", "avx512")).toEqual(flagsOf("a_avx512.cc", "avx512"));
    expect(flagsOf("a_avx512.cc", "avx512")).toContain("-mavx512f");
    expect(flagsOf("a_avx2.cc", "avx2")).toEqual(flagsOf("a.simd.cc", "avx2"));
  });

  test("are found in every op's folder", () => {
    const names = addonSources("x64").map((path) => basename(path));
    for (const name of ["conv.cpu.cc", "conv_fast.cc", "conv.cuda.cc", "kernels.simd.cc", "conv_amx.cc"])
      expect(names).toContain(name);
  });

  test("for Arm are the same without AMX, AVX2 and AVX-512, and nothing that includes x86's intrinsics", () => {
    const [x64, arm64] = [addonSources("x64"), addonSources("arm64")];
    expect(arm64.length).toBeGreaterThan(80);
    const left = x64.filter((path) => !arm64.includes(path)).map((path) => basename(path));
    expect(left).toEqual(
      expect.arrayContaining(["amx_panels.cc", "conv_amx.cc", "conv_gather_avx512.cc", "code_tiles_avx2.cc"]),
    );
    expect(left.filter((name) => !/amx|avx2|avx512/.test(name))).toEqual([]);
    const intrinsics = arm64.filter((path) => /^#include <(?:imm|emm|xmm)intrin\.h>/m.test(readFileSync(path, "utf8")));
    // It asks for the architecture first.
    expect(intrinsics.map((path) => basename(path))).toEqual(["thread_pool.cc"]);
  });

  test("an architecture without kernels is an error with a sentence", () => {
    expect(() => objectsOf("a.cc", "riscv64")).toThrow("expected one of x64, arm64 as the architecture, got riscv64");
  });
});
