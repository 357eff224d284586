// The AMX instructions, one macro each, since tile numbers are part of the instruction. The compiler's own macros pass
// strides as `long`, which Windows makes too short for an address. Source: Intel Architecture Instruction Set Extensions
// Programming Reference, chapter "Intel AMX".
#pragma once
#include <cstdint>

/** tile <- 16 rows of 64 bytes, `stride` bytes apart. */
#define VD_TILE_LOAD(tile, base, stride) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(base), "r"(static_cast<int64_t>(stride)))
/** 16 rows of 64 bytes, `stride` bytes apart <- tile. */
#define VD_TILE_STORE(tile, base, stride) \
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(base), "r"(static_cast<int64_t>(stride)) : "memory")
#define VD_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile ::)
/** sums [16, 16 f32] += rows [16, 16 pairs of bf16] · cols [16 pairs, 16]; each chain of 16 is summed before it is added. */
#define VD_TILE_MULTIPLY(sums, rows, cols) __asm__ volatile("tdpbf16ps %%tmm" #cols ", %%tmm" #rows ", %%tmm" #sums ::)
/** Sets shapes; `config` is an object of 64 bytes. */
#define VD_TILE_CONFIGURE(config) __asm__ volatile("ldtilecfg %0" ::"m"(config))
#define VD_TILE_RELEASE() __asm__ volatile("tilerelease" ::)
