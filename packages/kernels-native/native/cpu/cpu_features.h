// Which instruction sets this processor and this operating system offer together.
#pragma once

namespace vd::cpu {

/** Instruction sets that the CPU backend has kernels for, each including the ones before it. */
enum class Isa {
  plain,   // baseline x86-64 (SSE2)
  avx2,    // AVX2, FMA, F16C
  avx512,  // AVX-512 F, BW, DQ, VL
  amx,     // avx512 plus AMX tiles with bf16, used as exact splits of fp32
};

/** The best set that the processor has and the operating system saves on a context switch. */
Isa best_isa();

/** `wanted`, or the best set the machine has when that is less: lets tests walk through all code paths. */
Isa resolve_isa(Isa wanted);

/** Short lower-case name, for reports. */
const char* isa_name(Isa isa);

}  // namespace vd::cpu
