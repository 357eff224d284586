// Stands in for device/ptx/tf32.cuh.
#pragma once
#include "fragments.h"

namespace vd::device::ptx {

inline void mma_1688_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4]) {
  emulator::warp_product<float, float>(d, a, b, c);
}

}  // namespace vd::device::ptx
