// Normalisation of channels-last rows by given factors.
#include "scale_channels.h"

#include "simd/load.h"
#include "simd/math.h"

namespace vd::cpu::VD_ISA {

template <Activation ACT> static void scale_rows_of(const NormRows& rows, const float* center, const float* scale, const float* offset) {
  for (int64_t p = 0; p < rows.numPixels; ++p) {
    const float* x = rows.x + p * rows.xPitch;
    float* y = rows.y + p * rows.yPitch;
    for (int64_t c = 0; c < rows.channels; c += Vec::kWidth) {
      const int64_t n = rows.channels - c;
      __builtin_prefetch(x + c + kAhead);
      __builtin_prefetch(y + c + kAhead, 1);
      const Vec centered = load_n(x + c, n) - load_n(center + c, n);
      store_n(activate<ACT>(Vec::fma(centered, load_n(scale + c, n), load_n(offset + c, n))), y + c, n);
    }
  }
}

static void scale_rows(const NormRows& rows, const float* center, const float* scale, const float* offset, Activation act) {
  switch (act) {
    case Activation::silu: return scale_rows_of<Activation::silu>(rows, center, scale, offset);
    case Activation::gelu: return scale_rows_of<Activation::gelu>(rows, center, scale, offset);
    case Activation::gelu_tanh: return scale_rows_of<Activation::gelu_tanh>(rows, center, scale, offset);
    case Activation::quick_gelu: return scale_rows_of<Activation::quick_gelu>(rows, center, scale, offset);
    case Activation::relu: return scale_rows_of<Activation::relu>(rows, center, scale, offset);
    default: return scale_rows_of<Activation::none>(rows, center, scale, offset);
  }
}

const ScaleChannels scale_channels = {.rows = scale_rows};

}  // namespace vd::cpu::VD_ISA
