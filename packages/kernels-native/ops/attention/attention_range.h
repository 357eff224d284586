// Tiles of the Hopper kernels for rows that see part of the keys, shared by host and device.
#pragma once

namespace vd::device {

/** Warpgroups of a block that multiply, and their query rows together. */
inline constexpr int kRangeConsumers = 2, kRangeRows = 64 * kRangeConsumers, kRangeThreads = 128 * (kRangeConsumers + 1);
/** Keys of a tile. */
inline constexpr int kRangeKeys = 128;
/** Tiles of queries in flight. */
inline constexpr int kRangeQStages = 2;
/** Head dims that there are kernels for. */
inline constexpr int kRangeDims[] = {64, 80, 96, 128};

/** Slices of 64 channels that rows lie in. */
constexpr int range_slices(int dim) { return (dim + 63) / 64; }
/** Tiles of keys, and as many of values, in flight. */
constexpr int range_stages(int dim) { return dim <= 64 ? 4 : 2; }
/** A warpgroup's part of a mask's tile, of 16-bit elements. */
inline constexpr int kRangeMaskBytes = 64 * kRangeKeys * 2;
/** Dynamic shared memory of a block: queries, keys and values, the tiles of masks, and 1 KiB to align them. */
constexpr int range_shared_bytes(int dim, bool masked) {
  return (kRangeQStages * kRangeRows + 2 * range_stages(dim) * kRangeKeys) * range_slices(dim) * 128 +
         (masked ? kRangeConsumers * kRangeMaskBytes : 0) + 1024;
}

}  // namespace vd::device
