// Stands in for device/ptx/mma.cuh.
#pragma once
#include "fragments.h"
#include "math.cuh"

namespace vd::device::ptx {

template <class T> inline void mma_16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulator::warp_product<T, float>(d, a, b, d);
}
inline void mma_16832(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulator::warp_product<int8_t, int32_t>(d, a, b, d);
}
inline void mma_16832(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulator::warp_product<__nv_fp8_e4m3, float>(d, a, b, d);
}
inline void ldmatrix_x4(uint32_t (&r)[4], uint32_t address) { emulator::warp_matrices<false, false>(address, r); }
inline void ldmatrix_x4_transposed(uint32_t (&r)[4], uint32_t address) { emulator::warp_matrices<false, true>(address, r); }
inline uint32_t movmatrix_transposed(uint32_t v) {
  emulator::Lane lane{v};
  emulator::meet_warp(0xffffffffu, &lane, [](void* const* brought, uint32_t) {
    const auto its = [&](int i) { return static_cast<emulator::Lane*>(brought[i]); };
    for (int i = 0; i < 32; ++i) {
      uint32_t result = 0;
      for (int half = 0; half < 2; ++half) {
        const int row = i % 4 * 2 + half, column = i / 4;
        result |= (static_cast<uint32_t>(its(4 * row + column / 2)->value) >> 16 * (column % 2) & 0xFFFF) << 16 * half;
      }
      its(i)->result = result;
    }
  });
  return static_cast<uint32_t>(lane.result);
}
inline void copy16(uint32_t dst, const void* src, bool valid) {
  emulator::store_shared(dst, valid ? *static_cast<const uint4*>(src) : make_uint4(0, 0, 0, 0));
}
inline void copy_commit() {}
template <int kPending> inline void copy_wait() {}
inline void store_shared16(uint32_t dst, uint4 v) { emulator::store_shared(dst, v); }
inline void store_shared8(uint32_t dst, uint2 v) { emulator::store_shared(dst, v); }
inline void store_shared4(uint32_t dst, uint32_t v) { emulator::store_shared(dst, v); }
inline uint32_t load_shared2(uint32_t src) { return emulator::load_shared<uint16_t>(src); }
inline uint32_t load_shared4(uint32_t src) { return emulator::load_shared<uint32_t>(src); }
inline uint2 load_shared8_words(uint32_t src) { return emulator::load_shared<uint2>(src); }
inline uint4 load_shared16(uint32_t src) { return emulator::load_shared<uint4>(src); }

}  // namespace vd::device::ptx
