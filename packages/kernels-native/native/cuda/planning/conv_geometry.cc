#include "conv_geometry.h"

namespace vd::cuda {

void set_geometry(MatmulProblem& p, const ConvGeometry& a) {
  p.phases = a.upsample ? 4 : 1;
  for (int i = 0; i < 4; ++i) {
    p.source[i] = a.x.dim(i);
    p.out[i] = a.y.dim(i) / (a.upsample && i >= 2 ? 2 : 1);
  }
  for (int i = 0; i < 3; ++i) {
    p.kernel[i] = a.upsample && i > 0 ? 2 : static_cast<int>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int>(a.stride[i]);
    p.padding[i] = static_cast<int>(a.padding[2 * i]);
  }
  // Frames that do not mix are one long run of frames; pixels that do not mix are one long row.
  if (p.kernel[0] == 1 && p.stride[0] == 1 && p.padding[0] == 0 && p.out[1] == p.source[1]) {
    p.source[1] = p.out[1] = p.source[0] * p.source[1];
    p.source[0] = p.out[0] = 1;
  }
  const bool pointwise = p.kernel[1] == 1 && p.kernel[2] == 1 && p.stride[1] == 1 && p.stride[2] == 1 && p.padding[1] == 0 &&
                         p.padding[2] == 0 && p.out[2] == p.source[2] && p.out[3] == p.source[3];
  if (pointwise && p.phases == 1) {
    p.source[3] = p.out[3] = p.source[2] * p.source[3];
    p.source[2] = p.out[2] = 1;
    if (p.source[0] == 1 && p.kernel[0] == 1 && p.stride[0] == 1 && p.padding[0] == 0) {
      p.source[3] = p.out[3] = p.source[1] * p.source[3];
      p.source[1] = p.out[1] = 1;
    }
  }
}

int set_geometry(device::MatmulMmaParams& p, const ConvGeometry& a) {
  int taps = 1;
  for (int i = 0; i < 3; ++i) {
    p.source[i] = static_cast<int32_t>(a.x.dim(1 + i));
    p.out[i] = static_cast<int32_t>(a.y.dim(1 + i));
    p.kernel[i] = static_cast<int32_t>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int32_t>(a.stride[i]);
    p.padding[i] = static_cast<int32_t>(a.padding[2 * i]);
    taps *= p.kernel[i];
  }
  p.upsample = a.upsample;
  p.rows = static_cast<int32_t>(a.y.pixels());
  p.columns = static_cast<int32_t>(a.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels());
  p.tapChannels = static_cast<int32_t>(round_up(p.channels, 16 / bytes_of(a.x.dtype)));
  p.depth = taps * p.tapChannels;
  return taps;
}

}  // namespace vd::cuda
