// Which instruction sets this processor and this operating system offer together.
#pragma once

namespace vd::cpu {

/** Instruction sets that the CPU backend has kernels for. 64-bit Arm has `neon` alone; x86-64 has the others, each
 *  including the ones before it. */
enum class Isa {
  plain,   // baseline x86-64 (SSE2)
  neon,    // baseline 64-bit Arm
  avx2,    // AVX2, FMA, F16C
  avx512,  // AVX-512 F, BW, DQ, VL
  amx,     // avx512 plus AMX tiles with bf16, used as exact splits of fp32
  amx_emulated,  // the code of amx with tiles made of AVX-512: slow, for tests on machines without tiles
};

/** How exactly the products of float32 matrices and convolutions are taken; see math_of. */
enum class Math {
  exact,  // as float32 has them
  fast,   // of two bf16 parts an operand, three products: an error of 1e-6 or so
  bf16,   // of operands rounded to bf16, summed in float32
};

/** What fast paths are prepared for. `isa` is one that the machine has. */
struct Target {
  Isa isa = Isa::plain;
  Math math = Math::exact;
};

/** `wanted` where `isa` has instructions that gain by it, else exact: fast needs tiles, bf16 tiles or AVX512_BF16. */
Math math_of(Isa isa, Math wanted);

/** Whether the processor has VDPBF16PS on whole vectors (AVX512_BF16). */
bool has_bf16_dots();

/** Whether the processor has VPDPBUSD on whole vectors (AVX512_VNNI). */
bool has_vnni();

/** Whether it has VPDPBUSD on vectors of 256 bits in the encoding of AVX (AVX_VNNI). */
bool has_short_vnni();

/** Whether the processor has SDOT (64-bit Arm's dot products of 8-bit integers). */
bool has_sdot();

/** The best set, but for the emulated one, that the processor has and the operating system saves on a context switch. */
Isa best_isa();

/** `wanted`, or where the machine lacks it the next lesser set that it has, at least its baseline: lets tests walk through
 *  all code paths. */
Isa resolve_isa(Isa wanted);

/** Whether this build has the AMX engine. What it has not, callers leave out with `if constexpr`. */
#if defined(__x86_64__)
inline constexpr bool kHasAmx = true;
#else
inline constexpr bool kHasAmx = false;
#endif

/** Short lower-case name, for reports. */
const char* isa_name(Isa isa);

/** Short lower-case name, as options have it. */
const char* math_name(Math math);

}  // namespace vd::cpu
