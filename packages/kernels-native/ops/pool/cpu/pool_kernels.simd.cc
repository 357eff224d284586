// Maxima and sums of the pixels of a window; loops as simple as these the compiler turns into vectors by itself.
#include "pool_kernels.h"

#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::VD_ISA {

static void larger(float* __restrict most, const float* __restrict x, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) most[c] = (x[c] > most[c]) | (x[c] != x[c]) ? x[c] : most[c];
}

static void add(float* __restrict sum, const float* __restrict x, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) sum[c] += x[c];
}

static void scale(float* x, float factor, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) x[c] *= factor;
}

const PoolKernels pool_kernels = {.larger = larger, .add = add, .scale = scale};

}  // namespace vd::cpu::VD_ISA
