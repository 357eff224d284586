// Sums and sums of squares of the channels of channels-last rows.
#include "moment_kernels.h"

#include "simd/load.h"

namespace vd::cpu::VD_ISA {

template <int VECS>
static void channel_sums_of(const NormRows& rows, int64_t channel, int64_t n, double* sums, double* squares) {
  Moments moments[VECS];
  for (int v = 0; v < VECS; ++v) moments[v] = Moments::zero();
  const float* x = rows.x + channel;
  for (int64_t p = 0; p < rows.numPixels; ++p, x += rows.xPitch) {
#pragma GCC unroll 4
    for (int v = 0; v < VECS; ++v) {
      __builtin_prefetch(x + v * Vec::kWidth + kAhead);
      moments[v].add(load_n(x + v * Vec::kWidth, n - v * Vec::kWidth));
    }
  }
  double sumLanes[VECS * Vec::kWidth], squareLanes[VECS * Vec::kWidth];
  for (int v = 0; v < VECS; ++v) moments[v].store(sumLanes + v * Vec::kWidth, squareLanes + v * Vec::kWidth);
  for (int64_t c = 0; c < n && c < VECS * Vec::kWidth; ++c) {
    sums[channel + c] = sumLanes[c];
    squares[channel + c] = squareLanes[c];
  }
}

static void channel_sums(const NormRows& rows, double* sums, double* squares) {
  constexpr int64_t kBlock = Vec::kMaxVecs * Vec::kWidth;
  int64_t c = 0;
  for (; c + kBlock <= rows.channels; c += kBlock) channel_sums_of<Vec::kMaxVecs>(rows, c, kBlock, sums, squares);
  for (; c < rows.channels; c += Vec::kWidth) channel_sums_of<1>(rows, c, rows.channels - c, sums, squares);
}

const MomentKernels moment_kernels = {.channel_sums = channel_sums};

}  // namespace vd::cpu::VD_ISA
