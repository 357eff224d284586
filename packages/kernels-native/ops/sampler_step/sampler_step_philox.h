// Unit normals as torch draws them on a GPU, each a function of its place alone. For host and device code.
#pragma once
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define VD_PHILOX __host__ __device__ __forceinline__
#else
#define VD_PHILOX inline
#endif

namespace vd::device {

/** Four words: a counter, or what the engine makes of it. */
struct PhiloxWords {
  uint32_t x, y, z, w;
};

/** Philox4x32-10. Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). */
VD_PHILOX PhiloxWords philox4x32_10(PhiloxWords c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53u} * c.x, second = uint64_t{0xCD9E8D57u} * c.z;
    c = {static_cast<uint32_t>(second >> 32) ^ c.y ^ key0, static_cast<uint32_t>(second), static_cast<uint32_t>(first >> 32) ^ c.w ^ key1,
         static_cast<uint32_t>(first)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

/** What unit normals are drawn from. */
struct PhiloxState {
  uint32_t seedLow, seedHigh;
  uint64_t calls;  // of the engine by each lane before these numbers
};

/** The state in the op's operand. */
VD_PHILOX PhiloxState philox_state(const int32_t* words) {
  const uint64_t high = static_cast<uint32_t>(words[3]);
  return {static_cast<uint32_t>(words[0]), static_cast<uint32_t>(words[1]), high << 32 | static_cast<uint32_t>(words[2])};
}

/** The unit normal of element `index`. Lanes take turns, an element each; a call of the engine serves four turns of a lane, in
 *  pairs of Box and Muller's, the sine first. Source: pytorch/pytorch aten/src/ATen/native/cuda/DistributionTemplates.h
 *  `distribution_elementwise_grid_stride_kernel`; torch takes the device's approximate sine and cosine. */
VD_PHILOX float philox_normal(const PhiloxState& state, int64_t index, int64_t lanes) {
  const int64_t turn = index / lanes, lane = index % lanes;
  const uint64_t call = state.calls + static_cast<uint64_t>(turn / 4);
  const PhiloxWords words = philox4x32_10({static_cast<uint32_t>(call), static_cast<uint32_t>(call >> 32), static_cast<uint32_t>(lane),
                                           static_cast<uint32_t>(static_cast<uint64_t>(lane) >> 32)},
                                          state.seedLow, state.seedHigh);
  const bool isFirstPair = turn % 4 < 2;
  // Both in the open interval's middle: no logarithm of 0.
  const float radius = fmaf(static_cast<float>(isFirstPair ? words.x : words.z), 0x1p-32f, 0x1p-33f);
  constexpr float kTurn = 0x1.921fb6p-30f;  // 2π · 2^-32
  const float angle = fmaf(static_cast<float>(isFirstPair ? words.y : words.w), kTurn, kTurn / 2);
  return sqrtf(-2.0f * logf(radius)) * (turn % 2 == 0 ? sinf(angle) : cosf(angle));
}

}  // namespace vd::device
