// Shapes of the float32 attention kernels on tensor cores, shared by launcher and kernel.
#pragma once
#include <cstdint>

namespace vd::device {

inline constexpr int kTf32AttentionThreads = 256, kTf32AttentionStages = 3, kTf32AttentionKeys = 128;
inline constexpr uint32_t kTf32AttentionStaticBytes = 128;  // at most: what a block works on

/** What a block of heads of up to `dim` channels works on, and its shared memory: a ring of stages (16 channels of q and
 *  k, or valueKeys rows of v), scores [rows, pitch], factors [rows], all float32. */
struct Tf32AttentionShape {
  int rows, valueKeys;
  int pitch, pitchV;  // floats from row to row of scores and of v
  uint32_t ringBytes, sharedBytes;
};

constexpr Tf32AttentionShape tf32_attention_shape(int dim) {
  Tf32AttentionShape s{};
  s.rows = dim > 256 ? 80 : 64;
  s.valueKeys = dim > 256 ? 8 : dim > 128 ? 16 : 32;
  s.pitch = kTf32AttentionKeys + 4;
  s.pitchV = dim + 8;
  const int scores = (s.rows + kTf32AttentionKeys) * 64, values = s.valueKeys * s.pitchV * 4;
  s.ringBytes = static_cast<uint32_t>(kTf32AttentionStages * (scores > values ? scores : values));
  s.sharedBytes = s.ringBytes + static_cast<uint32_t>(s.rows * (s.pitch + 1) * 4);
  return s;
}

/** Head dims that kernels are compiled for. */
inline constexpr int kTf32AttentionDims[] = {64, 128, 256, 512};

}  // namespace vd::device
