// Stands in for device/ptx/wgmma.cuh. PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions". Products are done when they begin.
#pragma once
#include "fragments.h"

namespace vd::emulator {

/** Bytes of the pattern that a descriptor's addresses are swizzled in. */
inline uint32_t swizzle_bytes(uint64_t descriptor) {
  static constexpr uint32_t kBytes[4] = {16, 128, 64, 32};
  return kBytes[descriptor >> 62];
}
/** Where the byte lies that without a swizzle would be at an address: of each 16, which one follows from address bits 7 and up. */
inline uint32_t swizzled(uint32_t address, uint32_t patternBytes) {
  const uint32_t pieces = patternBytes / 16;
  return address ^ (address >> 7 & (pieces - 1)) << 4;
}

/** An element of an operand in shared memory: row of m or n, byte of the 32 along the reduction. */
template <class T> inline float operand_at(uint64_t descriptor, int row, int k) {
  const uint32_t start = window() + (static_cast<uint32_t>(descriptor & 0x3FFF) << 4),
                 groups = static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) << 4;
  const uint32_t pattern = swizzle_bytes(descriptor);
  const uint32_t at = start + row / 8 * groups + row % 8 * pattern + k * static_cast<uint32_t>(sizeof(T));
  return number_of(load_shared<T>(swizzled(at, pattern)));
}
/** The same of one that lies with its rows contiguous: pieces of a pattern's width by eight steps of the reduction. */
template <class T> inline float transposed_at(uint64_t descriptor, int row, int k) {
  const uint32_t start = window() + (static_cast<uint32_t>(descriptor & 0x3FFF) << 4),
                 next = static_cast<uint32_t>(descriptor >> 16 & 0x3FFF) << 4;
  const uint32_t groups = static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) << 4, pattern = swizzle_bytes(descriptor);
  const int wide = static_cast<int>(pattern / sizeof(T));
  const uint32_t at = start + row / wide * next + k / 8 * groups + k % 8 * pattern + row % wide * static_cast<uint32_t>(sizeof(T));
  return number_of(load_shared<T>(swizzled(at, pattern)));
}

struct GroupProduct {
  void* d;
  const uint32_t* a;  // registers, or null
  uint64_t descriptorA, descriptorB;
  int accumulate;
};

/** d[64, kWidth] (+)= a[64, 32 bytes] · b[32 bytes, kWidth] of a warpgroup. kHalf: sums of float16, two in a register. */
template <class T, class Sum, int kWidth, int kTransposeB, bool kHalf> inline void group_product(const GroupProduct& product) {
  GroupProduct mine = product;
  meet_warpgroup(&mine, [](void* const* brought) {
    constexpr int kDepth = 32 / sizeof(T);
    const auto its = [&](int thread) { return static_cast<GroupProduct*>(brought[thread]); };
    static float left[64][kDepth], right[kDepth][kWidth], sums[64][kWidth];
    const GroupProduct first = *its(0);
    for (int thread = 1; thread < 128; ++thread)
      if (its(thread)->descriptorB != first.descriptorB || its(thread)->accumulate != first.accumulate ||
          (!first.a && its(thread)->descriptorA != first.descriptorA))
        fail("a warpgroup's product whose threads name different operands");
    for (int row = 0; row < 64 && !first.a; ++row)
      for (int k = 0; k < kDepth; ++k) left[row][k] = operand_at<T>(first.descriptorA, row, k);
    for (int thread = 0; thread < 128 && first.a; ++thread)
      visit_a<T>(its(thread)->a, thread % 32, [&](int row, int k, float v) { left[thread / 32 * 16 + row][k] = v; });
    for (int k = 0; k < kDepth; ++k)
      for (int n = 0; n < kWidth; ++n)
        right[k][n] = kTransposeB ? transposed_at<T>(first.descriptorB, n, k) : operand_at<T>(first.descriptorB, n, k);
    memset(sums, 0, sizeof sums);
    for (int row = 0; row < 64; ++row)
      for (int k = 0; k < kDepth; ++k)
        for (int n = 0; n < kWidth; ++n) sums[row][n] += left[row][k] * right[k][n];
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < kWidth / 2; ++i) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + thread % 4 * 2 + i % 2;
        if constexpr (kHalf) {
          auto* d = static_cast<__half*>(its(thread)->d) + i;
          *d = __float2half_rn((first.accumulate ? __half2float(*d) : 0.0f) + sums[row][column]);
        } else {
          auto* d = static_cast<Sum*>(its(thread)->d) + i;
          *d = static_cast<Sum>(first.accumulate ? *d : Sum{}) + static_cast<Sum>(sums[row][column]);
        }
      }
  });
}

}  // namespace vd::emulator

namespace vd::device::ptx {

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int kPending> inline void wgmma_wait() {}

template <class T> using WgmmaSum = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;

template <class T, int kWidth, int kTransposeB> struct Wgmma {
  static void run(WgmmaSum<T> (&d)[kWidth / 2], uint64_t a, uint64_t b, int accumulate) {
    emulator::group_product<T, WgmmaSum<T>, kWidth, kTransposeB, false>({d, nullptr, a, b, accumulate});
  }
};
template <class T, int kWidth, int kTransposeB> struct WgmmaRegisters {
  static void run(WgmmaSum<T> (&d)[kWidth / 2], const uint32_t (&a)[4], uint64_t b, int accumulate) {
    emulator::group_product<T, WgmmaSum<T>, kWidth, kTransposeB, false>({d, a, 0, b, accumulate});
  }
};
template <class T, int kWidth, int kTransposeB> struct WgmmaHalfSums {
  static void run(uint32_t (&d)[kWidth / 4], uint64_t a, uint64_t b, int accumulate) {
    emulator::group_product<T, float, kWidth, kTransposeB, true>({d, nullptr, a, b, accumulate});
  }
};

}  // namespace vd::device::ptx
