import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { addonSources, objectsOf } from "../../../build/addon/sources.mjs";

const isasOf = (path: string) => objectsOf(path).map(({ isa }) => isa);
const flagsOf = (path: string, isa: string) => objectsOf(path).find((each) => each.isa === isa)!.flags;

describe("the addon's sources", () => {
  test("with loops of an instruction set are compiled once for each, others once", () => {
    expect(isasOf("ops/conv/cpu/winograd_kernels.simd.cc")).toEqual(["plain", "avx2", "avx512"]);
    expect(isasOf("ops/conv/cpu/conv_gather_avx512.cc")).toEqual(["avx512"]);
    expect(objectsOf("ops/conv/cpu/conv_fast.cc")).toEqual([{ isa: undefined, flags: [] }]);
  });

  test("get no more than the flags of their instruction set", () => {
    expect(flagsOf("a.simd.cc", "plain")).toEqual([]);
    expect(flagsOf("a.simd.cc", "avx2")).toEqual(["-mavx2", "-mfma", "-mf16c"]);
    expect(flagsOf("a.simd.cc", "avx512")).toEqual(flagsOf("a_avx512.cc", "avx512"));
    expect(flagsOf("a_avx512.cc", "avx512")).toContain("-mavx512f");
  });

  test("are found in every op's folder", () => {
    const names = addonSources().map((path) => basename(path));
    for (const name of ["conv.cpu.cc", "conv_fast.cc", "conv.cuda.cc", "kernels.simd.cc"])
      expect(names).toContain(name);
  });
});
