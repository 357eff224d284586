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
};

/** The best set that the processor has and the operating system saves on a context switch. */
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

}  // namespace vd::cpu
