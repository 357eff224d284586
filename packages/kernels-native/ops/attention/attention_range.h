// Tiles of the Hopper kernels for rows that see part of the keys, shared by host and device.
#pragma once

namespace vd::device {

/** Keys of a tile. */
inline constexpr int kRangeKeys = 128;

/** The shape of a block: the largest head, warpgroups that multiply, each with 64 query rows; tiles of queries, of keys and of values under
 *  way. */
struct RangeTile {
  int dim, consumers, queryStages, keyStages, valueStages;
  const char* name;
};
inline constexpr RangeTile kRangeTiles[] = {{48, 3, 2, 4, 4, "d48x3"}, {48, 2, 2, 4, 4, "d48"}, {64, 2, 2, 4, 4, "d64"},
                                            {80, 2, 2, 2, 2, "d80"},   {96, 2, 2, 2, 2, "d96"}, {128, 2, 2, 2, 2, "d128"}};
/** The first one that there is with masks. */
inline constexpr int kFirstMaskedTile = 2;

constexpr int range_rows(const RangeTile& t) { return 64 * t.consumers; }
/** Slices of 64 channels that rows lie in. */
constexpr int range_slices(int dim) { return (dim + 63) / 64; }
constexpr int range_slices(const RangeTile& t) { return range_slices(t.dim); }
/** A further warpgroup loads. */
constexpr int range_threads(const RangeTile& t) { return 128 * (t.consumers + 1); }
/** A warpgroup's part of a mask's tile, of 16-bit elements. */
inline constexpr int kRangeMaskBytes = 64 * kRangeKeys * 2;
/** Dynamic shared memory of a block: queries, keys and values, the tiles of masks, and 1 KiB to align them. */
constexpr int range_shared_bytes(const RangeTile& t, bool masked) {
  return (t.queryStages * range_rows(t) + (t.keyStages + t.valueStages) * kRangeKeys) * range_slices(t) * 128 +
         (masked ? t.consumers * kRangeMaskBytes : 0) + 1024;
}

/** Query rows and threads of a small block (attention_block.sm90.cuh), which is a warpgroup. */
inline constexpr int kBlockRows = 64, kBlockThreads = 128;
/** The largest head of a small block, and how many of them a multiprocessor has. */
struct BlockTile {
  int dim, minBlocks;
  const char* name;
};
inline constexpr BlockTile kBlockTiles[] = {{48, 3, "d48"}, {64, 3, "d64"},   {80, 2, "d80"},
                                            {96, 2, "d96"}, {128, 2, "d128"}, {160, 1, "d160"}};
/** Dynamic shared memory of a small block, which nothing lies in front of: a tile of queries, one of keys, two of values; barriers. */
constexpr int block_shared_bytes(const BlockTile& t) { return range_slices(t.dim) * (kBlockRows + 3 * kRangeKeys) * 128 + 24; }

/** The largest head of a block of two warpgroups whose rows begin at different times (attention_staggered.sm90.cuh), and tiles of keys and
 *  of values under way. */
struct StaggeredTile {
  int dim, keyStages, valueStages;
  const char* name;
};
inline constexpr StaggeredTile kStaggeredTiles[] = {
    {48, 5, 5, "d48"}, {64, 5, 5, "d64"}, {80, 2, 3, "d80"}, {96, 2, 3, "d96"}, {128, 2, 3, "d128"}};
/** Its query rows, and its threads: a third warpgroup loads. */
inline constexpr int kStaggeredRows = 2 * kBlockRows, kStaggeredThreads = 384;
/** Dynamic shared memory, which nothing lies in front of: two tiles of queries and results for each warpgroup, keys and values; barriers.
 */
constexpr int staggered_shared_bytes(const StaggeredTile& t) {
  return range_slices(t.dim) * (2 * kStaggeredRows + (t.keyStages + t.valueStages) * kRangeKeys) * 128 +
         16 * (5 + t.keyStages + t.valueStages);
}

/** The largest head of a block whose warpgroups share 64 rows (attention_split.sm90.cuh), into how many parts they divide the keys, and
 *  tiles of keys, and as many of values, under way. */
struct SplitTile {
  int dim, parts, stages;
  const char* name;
};
inline constexpr SplitTile kSplitTiles[] = {{48, 3, 6, "d48"}, {64, 3, 6, "d64"},   {64, 2, 6, "d64x2"}, {80, 2, 3, "d80"},
                                            {96, 2, 3, "d96"}, {128, 2, 3, "d128"}, {160, 2, 2, "d160"}};
/** A further warpgroup loads. */
constexpr int split_threads(const SplitTile& t) { return 128 * (t.parts + 1); }
/** Dynamic shared memory, which nothing lies in front of: a tile of queries, keys and values, (maximum, sum) of each part's rows;
 *  barriers. */
constexpr int split_shared_bytes(const SplitTile& t) {
  return range_slices(t.dim) * (kBlockRows + 2 * t.stages * kRangeKeys) * 128 + t.parts * kBlockRows * 8 + 8 * (1 + 4 * t.stages);
}

}  // namespace vd::device
