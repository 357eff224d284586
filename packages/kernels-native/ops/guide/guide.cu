// guide: y = unconditional + scale[frame] · (conditional - unconditional), one element a thread: latents have 4 channels.
// Symbols: guide_scalar.
#include "../../device/elementwise.cuh"
#include "guide_params.h"

using namespace vd::device;

namespace {

__device__ __forceinline__ void guide(const GuideParams& p) {
  for_each_item(p.pixels * p.channels, [&](int64_t i) {
    const int64_t pixel = i / p.channels;
    const int64_t c = i - pixel * p.channels;
    const float unconditional = load_any(p.x, p.xType, pixel * p.xPitch + c);
    const float conditional = load_any(p.x, p.xType, (p.pixels + pixel) * p.xPitch + c);
    store_any(p.y, p.yType, pixel * p.yPitch + c, fmaf(p.scale[pixel / p.pixelsPerFrame], conditional - unconditional, unconditional));
  });
}

}  // namespace

VD_KERNEL(guide_scalar, GuideParams, 256, 4, guide)
