// Copies of pixels for the unfolded input of a convolution, for machines with AVX-512.
#pragma once
#include <cstdint>

namespace vd::cpu::amx {

/** Copies `n` floats, n small. */
void copy(float* out, const float* in, int64_t n);
/** Copies `runs` runs of lengths[i] floats at start + offsets[i] one behind the other. */
void gather(const float* start, const int64_t* offsets, const int64_t* lengths, int64_t runs, float* out);

}  // namespace vd::cpu::amx
