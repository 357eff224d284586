// Layer normalisation of rows.
#include "layer_norm_kernels.h"

#include "../../../native/cpu/simd/load.h"

namespace vd::cpu::VD_ISA {

static void layer_norm_row(const float* x, float* y, int64_t channels, const float* weight, const float* bias,
                           float eps) {
  const float count = static_cast<float>(channels);
  Vec total = Vec::zero();
  for (int64_t c = 0; c < channels; c += Vec::kWidth) {
    __builtin_prefetch(x + c + kAhead);
    total = total + load_n(x + c, channels - c);
  }
  const Vec center = Vec::all(total.sum() / count);
  // What rounding left in the mean shows as the mean of the differences, and is taken out as well.
  Vec rest = Vec::zero(), square = Vec::zero();
  int64_t c = 0;
  for (; c + Vec::kWidth <= channels; c += Vec::kWidth) {
    const Vec d = Vec::load(x + c) - center;
    rest = rest + d;
    square = Vec::fma(d, d, square);
  }
  float restSum = rest.sum(), squareSum = square.sum();
  for (; c < channels; ++c) {
    const float d = x[c] - total.sum() / count;
    restSum += d;
    squareSum += d * d;
  }
  const float correction = restSum / count;
  const float variance = squareSum / count - correction * correction;
  const Vec shift = Vec::all(correction);
  const Vec rstd = Vec::all(1.0f / __builtin_sqrtf((variance > 0 ? variance : 0) + eps));
  for (c = 0; c < channels; c += Vec::kWidth) {
    const int64_t n = channels - c;
    const Vec d = (load_n(x + c, n) - center - shift) * rstd;
    store_n(Vec::fma(d, load_n(weight + c, n), load_n(bias + c, n)), y + c, n);
  }
}

static void layer_norm_rows(const NormRows& rows, const float* weight, const float* bias, float eps) {
  for (int64_t p = 0; p < rows.numPixels; ++p) {
    layer_norm_row(rows.x + p * rows.xPitch, rows.y + p * rows.yPitch, rows.channels, weight, bias, eps);
  }
}

const LayerNormKernels layer_norm_kernels = {.normalise_rows = layer_norm_rows};

}  // namespace vd::cpu::VD_ISA
