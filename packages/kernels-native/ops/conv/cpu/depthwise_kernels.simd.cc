// A filter for every channel: a vector of channels at a time, two at once so that additions do not wait for each other.
#include "depthwise_kernels.h"

#include "../../../native/cpu/simd/load.h"

namespace vd::cpu::VD_ISA {

static void sum_taps(const DepthwiseTap* taps, int64_t numTaps, int64_t channels, float* sums) {
  constexpr int64_t kPair = 2 * Vec::kWidth;
  int64_t c = 0;
  for (; c + kPair <= channels; c += kPair) {
    Vec low = Vec::zero(), high = Vec::zero();
    for (int64_t t = 0; t < numTaps; ++t) {
      low = Vec::fma(Vec::load(taps[t].pixel + c), Vec::load(taps[t].weights + c), low);
      high = Vec::fma(Vec::load(taps[t].pixel + c + Vec::kWidth), Vec::load(taps[t].weights + c + Vec::kWidth), high);
    }
    low.store(sums + c);
    high.store(sums + c + Vec::kWidth);
  }
  for (; c < channels; c += Vec::kWidth) {
    Vec sum = Vec::zero();
    for (int64_t t = 0; t < numTaps; ++t) sum = Vec::fma(load_n(taps[t].pixel + c, channels - c), Vec::load(taps[t].weights + c), sum);
    sum.store(sums + c);
  }
}

const DepthwiseKernels depthwise_kernels = {.sum_taps = sum_taps};

}  // namespace vd::cpu::VD_ISA
