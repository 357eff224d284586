#include "conv_geometry.h"

namespace vd::cuda {

void join_axes(MatmulProblem& p) {
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

}  // namespace vd::cuda
