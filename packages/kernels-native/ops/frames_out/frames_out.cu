// frames_out: decoded frames to 8 bits, an element or, where everything is packed, eight elements a thread.
// Symbols: frames_out_scalar, frames_out_wide.
#include "../../device/elementwise.cuh"
#include "frames_out_params.h"

using namespace vd::device;

namespace {

/** Rounded operation by operation, as the CPU does; fmaxf takes 0 for NaN. */
__device__ __forceinline__ uint32_t level_of(float v) {
  const float unit = fminf(fmaxf(__fadd_rn(__fmul_rn(v, 0.5f), 0.5f), 0.0f), 1.0f);
  return __float2uint_rn(__fmul_rn(unit, 255.0f));
}

__device__ __forceinline__ void frames_out_one(const FramesOutParams& p) {
  for_each_item(p.pixels * p.channels, [&](int64_t i) {
    const int64_t pixel = i / p.channels, c = i - pixel * p.channels;
    p.y[pixel * p.yPitch + c] = static_cast<uint8_t>(level_of(load_any(p.x, p.xType, pixel * p.xPitch + c)));
  });
}

__device__ __forceinline__ void frames_out_eight(const FramesOutParams& p) {
  for_each_item(p.pixels * p.channels / 8, [&](int64_t i) {
    float v[8];
    load8_any(p.x, p.xType, 8 * i, v);
    uint32_t words[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < 8; ++j) words[j / 4] |= level_of(v[j]) << (j % 4 * 8);
    reinterpret_cast<uint2*>(p.y)[i] = make_uint2(words[0], words[1]);
  });
}

}  // namespace

VD_KERNEL(frames_out_scalar, FramesOutParams, 256, 4, frames_out_one)
VD_KERNEL(frames_out_wide, FramesOutParams, 256, 4, frames_out_eight)
