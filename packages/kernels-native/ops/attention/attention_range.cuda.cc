// Plans the Hopper kernels for rows that see part of the keys (attention_range.sm90.cuh), and those for few (attention_block.sm90.cuh).
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "../../native/cuda/planning/attention_rows.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "attention_plans.h"
#include "attention_range.h"

namespace vd {

namespace {

using namespace device;

// HeadsStage finds the maps of q and k there.
static_assert(offsetof(AttentionMaps, q) == offsetof(AttentionSm90Params, q) &&
              offsetof(AttentionMaps, k) == offsetof(AttentionSm90Params, k));

/** Whether scores must be looked at one by one: a mask, or a window that leaves a row more than one range of keys. */
bool is_masked(const AttentionArgs& a) { return a.mask.present() || a.window[1] > 0 || a.window[2] > 0; }

/** Why no kernel for part of the keys can do the row, but for its head. */
cuda::Reason part_reason(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  const int64_t dim = a.q.channels() / a.heads;
  return cuda::first_of({cuda::wgmma_reason(device),
                         cuda::if_so(dim % 8 != 0, {"is for heads of multiples of #, the row has heads of #", {8, dim}}),
                         cuda::if_so(a.axis != AttentionAxis::space, {"is for attention over space"}), cuda::copy_engine_reason(a.q, "q"),
                         cuda::copy_engine_reason(a.k, "k"), cuda::copy_engine_reason(a.v, "v"), cuda::copy_engine_reason(a.y, "y"),
                         cuda::if_so(a.k.dim(2) == 0, {"has no keys", {}, "k"}), cuda::if_so(!(a.scale > 0), {"needs a positive scale"})});
}

/** Why the row's heads are too large for kernels of heads of up to `most` channels. */
cuda::Reason head_reason(const AttentionArgs& a, int most) {
  const int64_t dim = a.q.channels() / a.heads;
  return cuda::if_so(dim > most, {"is for heads of at most #, the row has heads of #", {most, dim}});
}

cuda::Reason range_reason(const AttentionArgs& a, bool masked, const cuda::DeviceInfo& device) {
  return cuda::first_of({part_reason(a, device), head_reason(a, std::rbegin(kRangeTiles)->dim),
                         masked ? cuda::if_so(!is_masked(a), {"has neither a mask nor a window of rows or columns"})
                                : cuda::first_of({cuda::if_so(a.mask.present(), {"has no mask"}),
                                                  cuda::if_so(is_masked(a), {"has no window of rows or columns"})})});
}

/** The kernel for large heads does every request; smaller heads would leave most of it empty. */
cuda::Reason large_head_reason(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  const int64_t dim = a.q.channels() / a.heads;
  return cuda::first_of({part_reason(a, device), cuda::if_so(dim <= 256, {"is for larger heads than #", {dim}}),
                         cuda::if_so(dim > 512, {"is for heads of at most #, the row has heads of #", {512, dim}})});
}

/** Whether the copy engine can bring the mask: one of a row for every query, of up to 16 bits, where tiles of keys begin at multiples
 *  of their size. It reads boxes from 16-byte boundaries only. */
bool has_mask_tiles(const AttentionArgs& a) {
  return a.mask.present() && !a.cuK.present() && !has_attention_window(a) && a.mask.dim(2) > 1 && a.mask.dtype != DType::f32 &&
         !cuda::copy_engine_access_reason(a.mask, "mask");
}

/** A map over [B or 1, H or 1, S, L] whose box is 128 bytes of 64 rows. */
cuda::TensorMapRequest mask_map(const Tensor& mask) {
  const int item = bytes_of(mask.dtype);
  cuda::TensorMapRequest map;
  map.paramOffset = offsetof(AttentionMaps, mask);
  map.base = cuda::Address::of(mask.data);
  map.dtype = mask.dtype;
  map.rank = 4;
  map.dims[0] = mask.channels();
  map.dims[1] = mask.dim(2);
  map.dims[2] = mask.dim(1);
  map.dims[3] = mask.dim(0);
  map.strideBytes[0] = mask.pitch * item;
  map.strideBytes[1] = mask.dim(2) * map.strideBytes[0];
  map.strideBytes[2] = mask.dim(1) * map.strideBytes[1];
  map.box[0] = 128 / item;
  map.box[1] = 64;
  return map;
}

/** How many heads and frames take turns with their longest tiles, where tiles differ: as many as the cache holds the keys of. */
int32_t heads_together(const AttentionArgs& a, const AttentionLocalParams& rows, const cuda::DeviceInfo& device) {
  if (!a.causal) return 1;
  const auto bytes = static_cast<uint64_t>(rows.seqK) * rows.dim * 2 * 2;
  return static_cast<int32_t>(std::clamp<uint64_t>(device.l2Bytes * 3 / 4 / bytes, 1, rows.numHeadsFrames));
}

/** Query rows of a block, or of a cluster, its threads, and the rows of the boxes in which operands are loaded. */
struct PartTile {
  int rows, threads;
  uint32_t q, k, v;
};

AttentionRangeParams part_params(const AttentionArgs& a, int rows, const cuda::DeviceInfo& device) {
  AttentionRangeParams p{};
  static_cast<AttentionMmaParams&>(p.rows) = cuda::attention_rows(a);
  p.rows.causal = 0;
  p.rows.sight = attention_sight(a);
  p.rows.numQTiles = static_cast<int32_t>(cuda::ceil_div(p.rows.seqQ, rows)) + (p.rows.numSequences ? p.rows.numSequences + 2 : 0);
  p.keyFrames = static_cast<int32_t>(a.k.dim(1));
  p.headsTogether = heads_together(a, p.rows, device);
  p.numTiles = p.rows.numQTiles * p.rows.numHeadsFrames;
  return p;
}

/** The launch of a kernel, but its grid. */
cuda::Launch part_launch(const AttentionArgs& a, const std::string& symbol, const AttentionRangeParams& p, const PartTile& tile,
                         int sharedBytes) {
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = static_cast<uint32_t>(tile.threads);
  launch.sharedBytes = sharedBytes;
  launch.set_params(p);
  launch.maps.push_back(attention_head_map(offsetof(AttentionMaps, q), a.q, a.heads, tile.q));
  launch.maps.push_back(attention_head_map(offsetof(AttentionMaps, k), a.k, a.heads, tile.k));
  launch.maps.push_back(attention_head_map(offsetof(AttentionMaps, v), a.v, a.heads, tile.v));
  return launch;
}

cuda::Variant range_variant(const AttentionArgs& a, const RangeTile& tile, bool masked, const cuda::DeviceInfo& device) {
  const int rows = range_rows(tile);
  AttentionRangeParams p = part_params(a, rows, device);
  p.maskTiles = masked && has_mask_tiles(a);
  const std::string kind = masked ? "masked_" : "range_";
  const auto box = static_cast<uint32_t>(rows);
  cuda::Launch launch = part_launch(a, "attention_sm90_" + kind + cuda::type_name(a.q.dtype) + "_" + tile.name, p,
                                    {rows, range_threads(tile), box, kRangeKeys, kRangeKeys}, range_shared_bytes(tile, masked));
  if (p.maskTiles) launch.maps.push_back(mask_map(a.mask));
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms);
  launch.overlapped = true;
  return {"sm90_" + kind + tile.name, 0, {}, {std::move(launch)}};
}

/** Why kernels of rows that see all keys, with heads of up to `most` channels, cannot do the row. */
cuda::Reason block_reason(const AttentionArgs& a, int most, const cuda::DeviceInfo& device) {
  return cuda::first_of({part_reason(a, device), head_reason(a, most), attention_request_reason(a)});
}

cuda::Variant block_variant(const AttentionArgs& a, const BlockTile& tile, const cuda::DeviceInfo& device) {
  const AttentionRangeParams p = part_params(a, kBlockRows, device);
  cuda::Launch launch = part_launch(a, "attention_sm90_block_" + cuda::type_name(a.q.dtype) + "_" + tile.name, p,
                                    {kBlockRows, kBlockThreads, kBlockRows, kRangeKeys, kRangeKeys}, block_shared_bytes(tile));
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms * tile.minBlocks);
  launch.overlapped = true;
  return {std::string("sm90_block_") + tile.name, 0, {}, {std::move(launch)}};
}

cuda::Variant staggered_variant(const AttentionArgs& a, const StaggeredTile& tile, const cuda::DeviceInfo& device) {
  const AttentionRangeParams p = part_params(a, kStaggeredRows, device);
  cuda::Launch launch = part_launch(a, "attention_sm90_staggered_" + cuda::type_name(a.q.dtype) + "_" + tile.name, p,
                                    {kStaggeredRows, kStaggeredThreads, kBlockRows, kRangeKeys, kRangeKeys}, staggered_shared_bytes(tile));
  launch.maps.push_back(attention_head_map(offsetof(AttentionMaps, y), a.y, a.heads, kBlockRows));
  // As few blocks as finish at the same time: their tiles are rather those of one head.
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.numTiles, cuda::ceil_div(p.numTiles, device.numSms)));
  launch.overlapped = true;
  return {std::string("sm90_staggered_") + tile.name, 0, {}, {std::move(launch)}};
}

/** The shapes of blocks that divide the keys, for the row's heads: the narrowest. */
std::vector<const SplitTile*> split_tiles(const AttentionArgs& a) {
  std::vector<const SplitTile*> found;
  for (const SplitTile& each : kSplitTiles)
    if (a.q.channels() / a.heads <= each.dim && (found.empty() || found.front()->dim == each.dim)) found.push_back(&each);
  return found;
}

/** Tiles of 64 queries of all heads and frames. */
int64_t num_small_tiles(const AttentionArgs& a) { return cuda::ceil_div(a.q.dim(2), kBlockRows) * a.q.dim(0) * a.q.dim(1) * a.heads; }

/** Why blocks that divide the keys cannot do the row. */
cuda::Reason split_reason(const AttentionArgs& a, const SplitTile& tile, const cuda::DeviceInfo& device) {
  const int64_t least = int64_t{tile.parts - 1} * kRangeKeys;
  return cuda::first_of({block_reason(a, tile.dim, device), cuda::if_so(a.k.dim(2) <= least, {"is for more than # keys", {least}})});
}

cuda::Variant split_variant(const AttentionArgs& a, const SplitTile& tile, const cuda::DeviceInfo& device) {
  const AttentionRangeParams p = part_params(a, kBlockRows, device);
  cuda::Launch launch = part_launch(a, "attention_sm90_split_" + cuda::type_name(a.q.dtype) + "_" + tile.name, p,
                                    {kBlockRows, split_threads(tile), kBlockRows, kRangeKeys, kRangeKeys}, split_shared_bytes(tile));
  launch.grid[0] = static_cast<uint32_t>(p.numTiles);
  launch.overlapped = true;
  return {std::string("sm90_split_") + tile.name, 0, {}, {std::move(launch)}};
}

/** Whether blocks whose warpgroups are apart go before small ones. Measured on an H200 and an H100 (docs/kernels/attention.md): heads of up
 * to 48 channels, unless queries and keys are few; of more than 64, of which a multiprocessor has two small blocks, which together load all
 * keys twice, unless there are few queries. */
bool staggered_wins(const AttentionArgs& a) {
  const int64_t dim = a.q.channels() / a.heads, queries = a.q.dim(2), keys = a.k.dim(2);
  if (dim <= 48) return keys > 256 || queries > 1024;
  return dim > 64 && (queries > 512 || (dim > 96 && keys > kRangeKeys));
}

/** Whether small blocks, or those whose warpgroups are apart, go first. Measured as above: they gain where tiles of queries begin and end
 * often; small ones always at 96 channels, and above 128, where else there is the portable core. */
bool small_blocks_win(const AttentionArgs& a, const BlockTile& tile) {
  const int64_t keys = a.k.dim(2);
  if (tile.dim > 128) return true;
  if (staggered_wins(a)) return keys <= (tile.dim == 80 || tile.dim == 96 ? 2048 : 1024);
  return tile.dim == 96 || keys <= (tile.dim == 128 ? 512 : 1024);
}

/** Time of all tiles: rounds of the device's blocks. A row in a block of three warpgroups takes 0.83 of what it takes in one of two (4,096
 *  tokens of 40 channels: 167 us and 174; 1,024 of 24: 35 and 29). */
double range_cost(const AttentionArgs& a, const RangeTile& tile, const cuda::DeviceInfo& device) {
  const int rows = range_rows(tile);
  const int64_t tiles = cuda::ceil_div(a.q.dim(2), rows) * a.q.dim(0) * a.q.dim(1) * a.heads;
  return static_cast<double>(cuda::ceil_div(tiles, device.numSms) * rows) * (tile.consumers == 3 ? 0.83 : 1.0);
}

/** The tiles that fit the row's heads best, the fastest first. */
std::vector<const RangeTile*> range_tiles(const AttentionArgs& a, bool masked, const cuda::DeviceInfo& device) {
  const int64_t given = a.q.channels() / a.heads;
  std::vector<const RangeTile*> found;
  for (const RangeTile* each = kRangeTiles + (masked ? kFirstMaskedTile : 0); each != std::end(kRangeTiles); ++each)
    if (given <= each->dim && (found.empty() || found.front()->dim == each->dim)) found.push_back(each);
  std::stable_sort(found.begin(), found.end(),
                   [&](const RangeTile* x, const RangeTile* y) { return range_cost(a, *x, device) < range_cost(a, *y, device); });
  return found;
}

/** Clusters of two blocks with 64 rows each, which load half of every tile of 64 keys for both. */
cuda::Variant large_head_variant(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  const AttentionRangeParams p = part_params(a, 128, device);
  cuda::Launch launch = part_launch(a, "attention_sm90_masked_" + cuda::type_name(a.q.dtype) + "_d512", p,
                                    {128, kAttentionD512Threads, 64, 32, 16}, kAttentionD512SharedBytes);
  launch.cluster = 2;
  launch.grid[0] = static_cast<uint32_t>(2 * p.numTiles);
  return {"sm90_masked_d512", 0, {}, {std::move(launch)}};
}

}  // namespace

cuda::TensorMapRequest attention_head_map(uint32_t offset, const Tensor& t, int64_t heads, uint32_t boxRows) {
  cuda::TensorMapRequest map;
  map.paramOffset = offset;
  map.base = cuda::Address::of(t.data);
  map.dtype = t.dtype;
  map.rank = 4;
  map.dims[0] = t.channels() / heads;
  map.dims[1] = heads;
  map.dims[2] = t.dim(2);
  map.dims[3] = t.dim(0) * t.dim(1);
  map.strideBytes[0] = map.dims[0] * 2;
  map.strideBytes[1] = t.pitch * 2;
  map.strideBytes[2] = static_cast<uint64_t>(t.dim(2)) * t.pitch * 2;
  map.box[0] = 64;
  map.box[2] = boxRows;
  return map;
}

void add_range_attention(const AttentionArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  for (const bool masked : {false, true})
    if (out.allows({masked ? "sm90_masked_*" : "sm90_range_*"}, range_reason(a, masked, device)))
      for (const RangeTile* tile : range_tiles(a, masked, device)) out.add(range_variant(a, *tile, masked, device));
  if (out.allows({"sm90_masked_d512"}, large_head_reason(a, device))) out.add(large_head_variant(a, device));
}

bool split_attention_wins(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  // Of larger heads a multiprocessor has one block: 4,096 tokens of 8 heads of 160 take 225 us in small blocks on an H100, divided 185.
  const bool large = a.q.channels() / a.heads > 128;
  return (large || num_small_tiles(a) <= device.numSms) && a.k.dim(2) >= 2 * kRangeKeys;
}

void add_split_attention(const AttentionArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  for (const SplitTile* tile : split_tiles(a))
    if (out.allows({"sm90_split_", tile->name}, cuda::first_of({out.variance_reason(), split_reason(a, *tile, device)})))
      out.add(split_variant(a, *tile, device));
}

void add_block_attention(const AttentionArgs& a, const cuda::DeviceInfo& device, bool ahead, cuda::Candidates& out) {
  const auto fits = [given = a.q.channels() / a.heads](const auto& tile) { return given <= tile.dim; };
  const BlockTile* tile = std::find_if(std::begin(kBlockTiles), std::end(kBlockTiles), fits);
  const StaggeredTile* apart = std::find_if(std::begin(kStaggeredTiles), std::end(kStaggeredTiles), fits);
  if (tile != std::end(kBlockTiles) && small_blocks_win(a, *tile) != ahead) return;
  const auto add_apart = [&] {
    if (out.allows({"sm90_staggered_*"}, block_reason(a, std::rbegin(kStaggeredTiles)->dim, device)))
      out.add(staggered_variant(a, *apart, device));
  };
  const bool apartWins = staggered_wins(a);
  if (apartWins) add_apart();
  if (out.allows({"sm90_block_*"}, block_reason(a, std::rbegin(kBlockTiles)->dim, device))) out.add(block_variant(a, *tile, device));
  if (!apartWins) add_apart();
}

}  // namespace vd
