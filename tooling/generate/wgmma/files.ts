import { join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import type { GeneratedFile } from "../generated-file";

/** Widths of products whose two operands lie in shared memory. */
const SHARED_WIDTHS = [32, 64, 88, 96, 128, 160, 192, 256];
/** Widths of such products with the columns of b contiguous. */
const SHARED_TRANSPOSED_WIDTHS = [256];
/** Products with a in registers: width, and 1 where the columns of b are contiguous. Attention's scores and values, with a column of
 *  ones or without, and rows that stay in registers. */
const REGISTER_SHAPES = [
  [32, 0],
  [16, 1],
  [32, 1],
  [40, 1],
  [64, 1],
  [48, 1],
  [72, 1],
  [80, 1],
  [96, 1],
  [128, 1],
  [128, 0],
  [160, 0],
  [160, 1],
  [256, 1],
] as const;
/** Widths of products of 8-bit operands, both in shared memory with their reductions contiguous, as is all that there is. */
const QUANTIZED_WIDTHS = [32, 64, 128, 160, 192, 256];
/** Widths of products of float8 in shared memory that are added up in float16: attention's scores. */
const QUANTIZED_HALF_WIDTHS = [128];
/** Widths of products of float8 with a in registers: attention's values with a column of ones, and rows that stay in registers. */
const QUANTIZED_REGISTER_WIDTHS = [72, 128, 160, 192];
/** Widths of products of float32 numbers of which the tensor cores read 19 bits, with a in registers. */
const TF32_REGISTER_WIDTHS = [64, 128];
/** PTX's name of each C++ type. */
const TYPES = { __half: "f16", __nv_bfloat16: "bf16" };

/** The same of 8-bit types, and C++'s and PTX's names of what they are added up in. */
const QUANTIZED_TYPES = {
  __nv_fp8_e4m3: { ptx: "e4m3", sum: "float", ptxSum: "f32", constraint: "+f", factors: ", 1, 1" },
  int8_t: { ptx: "s8", sum: "int32_t", ptxSum: "s32", constraint: "+r", factors: "" },
};

const HEAD = `// Generated from tooling/generate/wgmma by \`pnpm gen\`. Do not edit.
// Warpgroup matrix products. PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

namespace vd::device::ptx {

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/** Waits until at most kPending committed groups are unfinished. */
template <int kPending> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/** d[64, kWidth] (+)= a[64, 32 bytes] · b[32 bytes, kWidth] with sums of 32 bits; a and b in shared memory; accumulate 0 overwrites d.
 *  kTransposeB: b lies with its columns contiguous. */
template <class T, int kWidth, int kTransposeB> struct Wgmma;
/** The same with a in registers. */
template <class T, int kWidth, int kTransposeB> struct WgmmaRegisters;
/** Like Wgmma, with sums of float16, those of two neighbouring columns in a register. */
template <class T, int kWidth, int kTransposeB> struct WgmmaHalfSums;
`;

const TAIL = "\n}  // namespace vd::device::ptx\n";

const list = (count: number, item: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => item(i)).join(", ");
/** PTX's operands of the accumulators; the asm statement's other operands are numbered after them. */
const accumulators = (count: number) => list(count, (i) => `%${i}`);
const constraints = (count: number, kind = "+f") => list(count, (i) => `"${kind}"(d[${i}])`);

/** One instruction with both operands in shared memory. */
function sharedProduct(type: string, ptx: string, width: number, transposeB: number): string {
  const n = width / 2;
  return `
template <> struct Wgmma<${type}, ${width}, ${transposeB}> {
  static __device__ __forceinline__ void run(float (&d)[${n}], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{\\n.reg .pred p;\\nsetp.ne.b32 p, %${n + 2}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n${width}k16.f32.${ptx}.${ptx} {${accumulators(n)}}, %${n}, %${n + 1}, p, 1, 1, 0, ${transposeB};\\n}"
        : ${constraints(n)}
        : "l"(a), "l"(b), "r"(accumulate));
  }
};
`;
}

/** One instruction with 8-bit operands in shared memory. */
function quantizedProduct(type: keyof typeof QUANTIZED_TYPES, width: number): string {
  const { ptx, sum, ptxSum, constraint, factors } = QUANTIZED_TYPES[type];
  const n = width / 2;
  return `
template <> struct Wgmma<${type}, ${width}, 0> {
  static __device__ __forceinline__ void run(${sum} (&d)[${n}], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{\\n.reg .pred p;\\nsetp.ne.b32 p, %${n + 2}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n${width}k32.${ptxSum}.${ptx}.${ptx} {${accumulators(n)}}, %${n}, %${n + 1}, p${factors};\\n}"
        : ${constraints(n, constraint)}
        : "l"(a), "l"(b), "r"(accumulate));
  }
};
`;
}

/** One instruction with float8 operands in shared memory and sums in float16. */
function quantizedHalfProduct(width: number): string {
  const n = width / 4;
  return `
template <> struct WgmmaHalfSums<__nv_fp8_e4m3, ${width}, 0> {
  static __device__ __forceinline__ void run(uint32_t (&d)[${n}], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{\\n.reg .pred p;\\nsetp.ne.b32 p, %${n + 2}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n${width}k32.f16.e4m3.e4m3 {${accumulators(n)}}, %${n}, %${n + 1}, p, 1, 1;\\n}"
        : ${constraints(n, "+r")}
        : "l"(a), "l"(b), "r"(accumulate));
  }
};
`;
}

/** One instruction of float8 or float32 with a in registers, both with their reductions contiguous. depth: of the reduction. */
function plainRegisterProduct(type: string, ptx: string, depth: number, width: number): string {
  const n = width / 2;
  const a = list(4, (i) => `%${n + i}`);
  return `
template <> struct WgmmaRegisters<${type}, ${width}, 0> {
  static __device__ __forceinline__ void run(float (&d)[${n}], const uint32_t (&a)[4], uint64_t b, int accumulate) {
    asm volatile(
        "{\\n.reg .pred p;\\nsetp.ne.b32 p, %${n + 5}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n${width}k${depth}.f32.${ptx}.${ptx} {${accumulators(n)}}, {${a}}, %${n + 4}, p, 1, 1;\\n}"
        : ${constraints(n)}
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
  }
};
`;
}

/** One instruction with a in registers. */
function registerProduct(type: string, ptx: string, width: number, transposeB: number): string {
  const n = width / 2;
  const a = list(4, (i) => `%${n + i}`);
  return `
template <> struct WgmmaRegisters<${type}, ${width}, ${transposeB}> {
  static __device__ __forceinline__ void run(float (&d)[${n}], const uint32_t (&a)[4], uint64_t b, int accumulate) {
    asm volatile(
        "{\\n.reg .pred p;\\nsetp.ne.b32 p, %${n + 5}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n${width}k16.f32.${ptx}.${ptx} {${accumulators(n)}}, {${a}}, %${n + 4}, p, 1, 1, ${transposeB};\\n}"
        : ${constraints(n)}
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
  }
};
`;
}

/** Returns device/ptx/wgmma.cuh: one function for each shape of the instruction that kernels use. */
export function files(): GeneratedFile[] {
  const products = Object.entries(TYPES).flatMap(([type, ptx]) => [
    ...SHARED_WIDTHS.map((width) => sharedProduct(type, ptx, width, 0)),
    ...SHARED_TRANSPOSED_WIDTHS.map((width) => sharedProduct(type, ptx, width, 1)),
    ...REGISTER_SHAPES.map(([width, transposeB]) => registerProduct(type, ptx, width, transposeB)),
  ]);
  for (const type of ["__nv_fp8_e4m3", "int8_t"] as const)
    products.push(...QUANTIZED_WIDTHS.map((width) => quantizedProduct(type, width)));
  products.push(...QUANTIZED_HALF_WIDTHS.map(quantizedHalfProduct));
  products.push(...QUANTIZED_REGISTER_WIDTHS.map((width) => plainRegisterProduct("__nv_fp8_e4m3", "e4m3", 32, width)));
  products.push(...TF32_REGISTER_WIDTHS.map((width) => plainRegisterProduct("float", "tf32", 8, width)));
  return [[join(ROOT, "packages/kernels-native/device/ptx/wgmma.cuh"), HEAD + products.join("") + TAIL]];
}
