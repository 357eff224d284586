// layout_out: channels-last pixels to planes, y = scale · x + shift. Neighbouring threads take neighbouring pixels of a few
// channels, so that planes are read and written in runs. Symbols: layout_out_scalar.
#include "../../device/elementwise.cuh"
#include "layout_out_params.h"

using namespace vd::device;

namespace {

__device__ __forceinline__ void layout_out(const LayoutOutParams& p) {
  for_each_item(p.rows * p.width * p.runs, [&](int64_t i) {
    const int64_t line = i / p.width;  // rows of one run of channels, then of the next
    const int64_t w = i - line * p.width;
    const int64_t row = line % p.rows, first = line / p.rows * kLayoutRun;
    const int64_t frame = row / p.height, h = row - frame * p.height;
#pragma unroll
    for (int j = 0; j < kLayoutRun; ++j) {
      const int64_t c = first + j;
      if (c >= p.channels) break;
      const int64_t plane = ((frame * p.channels + c) * p.height + h) * p.planesPitch + w;
      const int64_t pixel = (row * p.width + w) * p.pixelsPitch + c;
      const float v = __fadd_rn(__fmul_rn(p.scale, load_any(p.x, p.xType, pixel)), p.shift);
      store_any(p.y, p.yType, plane, v);
    }
  });
}

}  // namespace

VD_KERNEL(layout_out_scalar, LayoutOutParams, 256, 4, layout_out)
