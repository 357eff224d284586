// Loads and stores of the ragged end of a row, and how far ahead rows are fetched.
#pragma once
#include "isa.h"

namespace vd::cpu::VD_ISA {

/** Floats between what is read or written and what is fetched meanwhile, in rows that do not fit the caches: 4 KiB. The
 *  processor's own prefetching stops at page borders. Measured on 59 MB: 16.9 ms against 20.3 ms a GroupNorm. */
static constexpr int64_t kAhead = 1024;

/** The first n floats at p, or a whole vector of them; zeros behind. */
static inline Vec load_n(const float* p, int64_t n) {
  return n >= Vec::kWidth ? Vec::load(p) : Vec::load_first(p, n);
}

/** Writes the first n floats of a vector to p, or all of them. */
static inline void store_n(Vec value, float* p, int64_t n) {
  if (n >= Vec::kWidth) return value.store(p);
  value.store_first(p, n);
}

}  // namespace vd::cpu::VD_ISA
