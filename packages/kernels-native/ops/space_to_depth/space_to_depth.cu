// space_to_depth: every element of x has one place in y; one element a thread, in the order of x.
// Symbols: space_to_depth_scalar.
#include "../../device/elementwise.cuh"
#include "space_to_depth_params.h"

using namespace vd::device;

namespace {

__device__ __forceinline__ void space_to_depth(const SpaceToDepthParams& p) {
  for_each_item(p.count, [&](int64_t i) {
    const int64_t pixel = i / p.channels;
    const int c = static_cast<int>(i - pixel * p.channels);
    const int64_t line = pixel / p.width;
    const int w = static_cast<int>(pixel - line * p.width), h = static_cast<int>(line % p.height);
    const int64_t frame = line / p.height;
    const int f = static_cast<int>(frame % p.frames);
    const int64_t batch = frame / p.frames;
    const int dt = f % p.block[0], dy = h % p.block[1], dx = w % p.block[2];
    const int64_t channel = static_cast<int64_t>((c * p.block[0] + dt) * p.block[1] + dy) * p.block[2] + dx;
    const int64_t deepFrame = batch * (p.frames / p.block[0]) + f / p.block[0];
    const int64_t deepPixel = (deepFrame * (p.height / p.block[1]) + h / p.block[1]) * (p.width / p.block[2]) + w / p.block[2];
    const int64_t deepAt = deepPixel * p.deepPitch + channel, wideAt = pixel * p.widePitch + c;
    store_any(p.y, p.yType, deepAt, load_any(p.x, p.xType, wideAt));
  });
}

}  // namespace

VD_KERNEL(space_to_depth_scalar, SpaceToDepthParams, 256, 4, space_to_depth)
