// Packs weights: one thread per target element, float32 sums, rounded once.
#pragma once
#include "elementwise.cuh"
#include "pack.h"

namespace vd::device {

/** Weight of 2x2 tap (i, j) of phase (a, b): the sum of the 3x3 taps that read the same source pixel. */
__device__ __forceinline__ float pack_upsample(const PackParams& p, int64_t base, int phase, int tap) {
  const int a = phase >> 1, b = phase & 1, i = tap >> 1, j = tap & 1;
  const int h0 = a == 0 ? (i == 0 ? 0 : 1) : (i == 0 ? 0 : 2), h1 = a == 0 ? (i == 0 ? 0 : 2) : (i == 0 ? 1 : 2);
  const int w0 = b == 0 ? (j == 0 ? 0 : 1) : (j == 0 ? 0 : 2), w1 = b == 0 ? (j == 0 ? 0 : 2) : (j == 0 ? 1 : 2);
  float sum = 0.0f;
  for (int h = h0; h <= h1; ++h)
    for (int w = w0; w <= w1; ++w) sum += load_any(p.source, p.sourceType, base + h * 3 + w);
  return sum;
}

/** Weight of 2x2 tap (i, j) of phase (a, b): results of that parity meet every second tap, backwards. */
__device__ __forceinline__ float pack_transposed(const PackParams& p, int row, int c, int phase, int tap) {
  const int r = 3 - (phase >> 1) - 2 * (tap >> 1), s = 3 - (phase & 1) - 2 * (tap & 1);
  return load_any(p.source, p.sourceType, (static_cast<int64_t>(c) * p.rows + row) * 16 + r * 4 + s);
}

/** Target element i of a filter of groups. */
__device__ __forceinline__ float pack_groups(const PackParams& p, int64_t i) {
  const int64_t row = i % p.rows, rest = i / p.rows, c = rest % p.channels, tap = rest / p.channels;
  return load_any(p.source, p.sourceType, (row * p.channels + c) * p.taps + tap);
}

/** Target element i of the fragments of a 3x3 filter of groups; paddedChannels: their depth. */
__device__ __forceinline__ float pack_groups_mma(const PackParams& p, int64_t i) {
  const int element = static_cast<int>(i & 3), lane = static_cast<int>(i >> 2 & 31);
  const int64_t rest = i >> 7, steps = p.paddedChannels / 16, line = rest / 3;
  const int row = static_cast<int>(rest % 3), step = static_cast<int>(line % steps);
  const int depth = step * 16 + (lane & 3) * 2 + (element & 1) + (element >> 1) * 8, column = depth / p.channels;
  const int64_t filter = line / steps * 8 + (lane >> 2);
  if (column >= 3 || filter >= p.rows) return 0.0f;
  return load_any(p.source, p.sourceType, (filter * p.channels + depth % p.channels) * 9 + row * 3 + column);
}

__device__ __forceinline__ void pack_weights(const PackParams& p) {
  for_each_item(p.count, [&](int64_t i) {
    if (p.kind == PackKind::convert) {
      store_any(p.target, p.targetType, i, load_any(p.source, p.sourceType, i));
      return;
    }
    if (p.kind == PackKind::convGroups) {
      store_any(p.target, p.targetType, i, pack_groups(p, i));
      return;
    }
    if (p.kind == PackKind::convGroupsMma) {
      store_any(p.target, p.targetType, i, pack_groups_mma(p, i));
      return;
    }
    const int c = static_cast<int>(i % p.paddedChannels);
    int64_t rest = i / p.paddedChannels;
    const int tap = static_cast<int>(rest % p.taps);
    rest /= p.taps;
    const int row = static_cast<int>(rest % p.rows), phase = static_cast<int>(rest / p.rows);
    const int64_t filter = static_cast<int64_t>(row) * p.channels + c;
    float v = 0.0f;
    if (c < p.channels) {
      if (p.kind == PackKind::conv) v = load_any(p.source, p.sourceType, filter * p.taps + tap);
      else if (p.kind == PackKind::convTransposed) v = pack_transposed(p, row, c, phase, tap);
      else v = pack_upsample(p, filter * 9, phase, tap);
    }
    store_any(p.target, p.targetType, i, v);
  });
}

/** Packs codes of 8 bits, as they are: zero bytes are zeros. */
__device__ __forceinline__ void pack_codes(const PackParams& p) {
  const auto* source = static_cast<const uint8_t*>(p.source);
  auto* target = static_cast<uint8_t*>(p.target);
  for_each_item(p.count, [&](int64_t i) {
    const int c = static_cast<int>(i % p.paddedChannels);
    const int64_t rest = i / p.paddedChannels;
    const int tap = static_cast<int>(rest % p.taps);
    target[i] = c < p.channels ? source[(rest / p.taps * p.channels + c) * p.taps + tap] : 0;
  });
}

}  // namespace vd::device
