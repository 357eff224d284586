// Fetching ahead by software, for rows that the processor's own prefetching does not follow.
#pragma once
#include <cstdint>

namespace vd::cpu {

/** Fetches `count` floats from p on; beyond the end of memory nothing happens. Inlined, and so must be who calls it for nothing else: GCC
 *  takes functions that only fetch for ones without effect and leaves out their calls. */
static inline __attribute__((always_inline)) void fetch(const float* p, int64_t count) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t i = 0; i < count; i += kLineFloats) __builtin_prefetch(p + i);
}

}  // namespace vd::cpu
