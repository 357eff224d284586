// Stands in for device/ptx/stmatrix.cuh.
#pragma once
#include "fragments.h"

namespace vd::device::ptx {

inline void stmatrix_x4(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  uint32_t r[4] = {r0, r1, r2, r3};
  emulator::warp_matrices<true, false>(address, r);
}
inline void stmatrix_x4_transposed(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  uint32_t r[4] = {r0, r1, r2, r3};
  emulator::warp_matrices<true, true>(address, r);
}

}  // namespace vd::device::ptx
