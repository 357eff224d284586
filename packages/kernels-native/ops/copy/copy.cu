// copy: y = x in another element type or pixel pitch, eight channels a thread, or one when unaligned.
// Symbols: copy_vector, copy_scalar.
#include "../../device/elementwise.cuh"
#include "copy_params.h"

using namespace vd::device;

namespace {

template <int kWidth> __device__ __forceinline__ void copy(const CopyParams& p) {
  const int runs = p.channels / kWidth;
  for_each_item(p.pixels * runs, [&](int64_t i) {
    const int64_t pixel = i / runs;
    const int c = static_cast<int>(i - pixel * runs) * kWidth;
    float v[kWidth];
    load_run(p.x, p.xType, pixel * p.xPitch + c, v);
    store_run(p.y, p.yType, pixel * p.yPitch + c, v);
  });
}

}  // namespace

VD_KERNEL(copy_vector, CopyParams, 256, 4, copy<8>)
VD_KERNEL(copy_scalar, CopyParams, 256, 4, copy<1>)
