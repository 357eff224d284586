// Matrices that the lanes of a warp, or of a warpgroup, hold in common. PTX ISA: "Warp Level Matrix Instructions", "Matrix Fragments".
#pragma once
#include "shared.h"

namespace vd::emulator {

inline float number_of(const __half& v) { return __half2float(v); }
inline float number_of(const __nv_bfloat16& v) { return __bfloat162float(v); }
inline float number_of(const __nv_fp8_e4m3& v) { return static_cast<float>(v); }
inline float number_of(int8_t v) { return v; }
/** Tensor cores read the upper 19 bits. */
inline float number_of(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }

/** Element `index` of those that registers hold. */
template <class T> inline T element_of(const uint32_t* registers, int index) {
  T v;
  memcpy(static_cast<void*>(&v), reinterpret_cast<const std::byte*>(registers) + index * sizeof(T), sizeof v);
  return v;
}

/** a[16, 32 bytes] of a lane's four registers: rows 0 to 7 and 8 to 15 of the first 16 bytes, then of the others. */
template <class T, class Body> inline void visit_a(const uint32_t* a, int lane, Body body) {
  constexpr int kEach = 4 / sizeof(T);
  for (int r = 0; r < 4; ++r)
    for (int i = 0; i < kEach; ++i)
      body(lane / 4 + r % 2 * 8, r / 2 * 4 * kEach + lane % 4 * kEach + i, number_of(element_of<T>(a + r, i)));
}

struct WarpProduct {
  void* d;
  const uint32_t* a;
  const uint32_t* b;
  const void* c;
};

/** d[16,8] = c + a[16, 32 bytes] · b[32 bytes, 8], the warp's. */
template <class T, class Sum> inline void warp_product(Sum* d, const uint32_t* a, const uint32_t* b, const Sum* c) {
  WarpProduct mine{d, a, b, c};
  meet_warp(0xffffffffu, &mine, [](void* const* brought, uint32_t) {
    constexpr int kEach = 4 / sizeof(T), kDepth = 8 * kEach;
    float left[16][kDepth], right[kDepth][8];
    for (int lane = 0; lane < 32; ++lane) {
      const auto* its = static_cast<const WarpProduct*>(brought[lane]);
      visit_a<T>(its->a, lane, [&](int row, int k, float v) { left[row][k] = v; });
      for (int r = 0; r < 2; ++r)
        for (int i = 0; i < kEach; ++i) right[r * 4 * kEach + lane % 4 * kEach + i][lane / 4] = number_of(element_of<T>(its->b + r, i));
    }
    for (int lane = 0; lane < 32; ++lane) {
      const auto* its = static_cast<const WarpProduct*>(brought[lane]);
      for (int i = 0; i < 4; ++i) {
        double sum = 0;
        for (int k = 0; k < kDepth; ++k) sum += static_cast<double>(left[lane / 4 + i / 2 * 8][k]) * right[k][lane % 4 * 2 + i % 2];
        static_cast<Sum*>(its->d)[i] = static_cast<Sum>(sum + static_cast<const Sum*>(its->c)[i]);
      }
    }
  });
}

struct MatrixRows {
  uint32_t address;
  uint32_t* registers;
};

/** Four matrices of 8x8 elements of 16 bits, whose rows lanes name eight by eight, to or from registers. */
template <bool kStores, bool kTransposed> inline void warp_matrices(uint32_t address, uint32_t* registers) {
  MatrixRows mine{address, registers};
  meet_warp(0xffffffffu, &mine, [](void* const* brought, uint32_t) {
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int i = 0; i < 2; ++i) {
          const int held = lane / 4, other = lane % 4 * 2 + i;
          const int row = kTransposed ? other : held, column = kTransposed ? held : other;
          const uint32_t at = static_cast<const MatrixRows*>(brought[8 * matrix + row])->address;
          if (at % 16 != 0) fail("a matrix row at shared address " + std::to_string(at));
          auto* half = reinterpret_cast<std::byte*>(static_cast<const MatrixRows*>(brought[lane])->registers + matrix) + 2 * i;
          std::byte* shared = shared_bytes(at + 2 * column);
          if constexpr (kStores) memcpy(shared, half, 2);
          else memcpy(half, shared, 2);
        }
  });
}

}  // namespace vd::emulator
