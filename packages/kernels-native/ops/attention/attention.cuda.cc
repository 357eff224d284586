#include "../../native/generated/op_planners.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "../../native/cuda/planning/matmul_sm90.h"
#include "attention_plans.h"
#include "attention_range.h"
#include "attention_slim.h"

namespace vd {

namespace {

using namespace device;

/** Why no kernel can do the row: they read all operands as q's type, and count rows and blocks in 32 bits. */
cuda::Reason row_reason(const AttentionArgs& a) {
  const auto other = [&](const Tensor& t, const char* name) {
    return cuda::if_so(t.dtype != a.q.dtype, {"has another element type than q", {}, name});
  };
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t most = std::max({a.q.dim(0), a.q.dim(1), a.q.dim(2), a.k.dim(1), a.k.dim(2)});
  // The smallest blocks have 32 rows; packed sequences may each leave one unfilled.
  const int64_t sequences = a.cuQ.present() ? a.cuQ.channels() + 1 : 0, along = a.axis == AttentionAxis::time ? a.q.dim(1) : a.q.dim(2);
  const auto blocks =
      static_cast<double>(cuda::ceil_div(along, 32) + sequences) * static_cast<double>(a.q.pixels() / along) * static_cast<double>(a.heads);
  return cuda::first_of({other(a.k, "k"), other(a.v, "v"), other(a.y, "y"),
                         cuda::if_so(most > kMost || blocks > static_cast<double>(kMost), {"is for at most # blocks of rows", {kMost}})});
}

/** A map over [sequences, rows, channels] whose box is 64 channels of `boxRows` rows. */
cuda::TensorMapRequest sequence_map(uint32_t offset, const Tensor& t, int64_t rows, int64_t sequences, uint32_t boxRows) {
  cuda::TensorMapRequest map;
  map.paramOffset = offset;
  map.base = cuda::Address::of(t.data);
  map.dtype = t.dtype;
  map.rank = 4;
  map.dims[0] = t.channels();
  map.dims[1] = rows;
  map.dims[2] = sequences;
  map.strideBytes[0] = t.pitch * 2;
  map.strideBytes[1] = map.strideBytes[2] = static_cast<uint64_t>(rows) * t.pitch * 2;
  map.box[0] = 64;
  map.box[1] = boxRows;
  return map;
}

AttentionSm90Params sm90_params(const AttentionArgs& a, int blockRows) {
  AttentionSm90Params p{};
  p.y = a.y.data;
  p.lse = a.lse.as<float>();
  p.yPitch = a.y.pitch;
  p.heads = static_cast<int32_t>(a.heads);
  p.seqQ = static_cast<int32_t>(a.q.dim(2));
  p.seqK = static_cast<int32_t>(a.k.dim(2));
  p.dim = static_cast<int32_t>(a.q.channels() / a.heads);
  p.frames = static_cast<int32_t>(a.q.dim(1));
  p.keyFrames = static_cast<int32_t>(a.k.dim(1));
  p.numQTiles = static_cast<int32_t>(cuda::ceil_div(p.seqQ, blockRows));
  p.numTiles = static_cast<int32_t>(p.numQTiles * a.heads * a.q.dim(0) * a.q.dim(1));
  p.scale = a.scale * kLog2e;
  return p;
}

/** Why no Hopper kernel for rows that see all keys can do the row, but for its head. */
cuda::Reason sm90_reason(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  return cuda::first_of({cuda::wgmma_reason(device), cuda::if_so(a.axis != AttentionAxis::space, {"is for attention over space"}),
                         attention_request_reason(a), cuda::copy_engine_reason(a.q, "q"), cuda::copy_engine_reason(a.k, "k"),
                         cuda::copy_engine_reason(a.v, "v"), cuda::copy_engine_reason(a.y, "y"),
                         cuda::if_so(a.k.dim(2) == 0, {"has no keys", {}, "k"}), cuda::if_so(!(a.scale > 0), {"needs a positive scale"}),
                         cuda::if_so(a.lse.present() && a.lse.pitch != a.lse.channels(), {"has gaps between its rows", {}, "lse"})});
}

/** Channels of the heads that there are kernels for, up to so many each, and query rows of their tiles. */
constexpr int64_t kSmallHeads[] = {16, 32, 48, 64};
constexpr int kSmallHeadsRows = 192;
/** The same of the kernel whose time is that of powers. */
constexpr int64_t kSlimHeads[] = {16, 32, 40, 48};

/** Why the kernel for heads of more than `below` and up to `dim` channels cannot do the row. */
cuda::Reason small_heads_reason(const AttentionArgs& a, int64_t below, int64_t dim, const cuda::DeviceInfo& device) {
  const int64_t given = a.q.channels() / a.heads;
  return cuda::first_of(
      {cuda::wgmma_reason(device), cuda::if_so(given > dim, {"is for heads of at most #, the row has heads of #", {dim, given}}),
       cuda::if_so(given <= below, {"is for larger heads than #", {given}}),
       cuda::if_so(given % 8 != 0, {"is for heads of multiples of #, the row has heads of #", {8, given}}), sm90_reason(a, device)});
}

cuda::Reason d512_reason(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  constexpr int64_t kDim = 512;
  const int64_t given = a.q.channels() / a.heads;
  return cuda::first_of({cuda::wgmma_reason(device),
                         cuda::if_so(given != kDim, {"is for heads of #, the row has heads of #", {kDim, given}}), sm90_reason(a, device)});
}

cuda::Variant small_heads_variant(const AttentionArgs& a, int64_t dim, const cuda::DeviceInfo& device) {
  const AttentionSm90Params p = sm90_params(a, kSmallHeadsRows);
  cuda::Launch launch;
  launch.symbol = "attention_sm90_" + cuda::type_name(a.q.dtype) + "_d" + std::to_string(dim);
  launch.block = 512;
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms);
  launch.overlapped = true;
  launch.sharedBytes = kSmallHeadsRows * 128 + 9 * 128 * 128 + 1024;  // Q; four of K and of V, and one of ones
  launch.set_params(p);
  launch.maps.push_back(attention_head_map(offsetof(AttentionSm90Params, q), a.q, a.heads, kSmallHeadsRows));
  launch.maps.push_back(attention_head_map(offsetof(AttentionSm90Params, k), a.k, a.heads, 128));
  launch.maps.push_back(attention_head_map(offsetof(AttentionSm90Params, v), a.v, a.heads, 128));
  return {"sm90_d" + std::to_string(dim), 0, {}, {std::move(launch)}};
}

cuda::Variant slim_variant(const AttentionArgs& a, int64_t dim, const cuda::DeviceInfo& device) {
  const AttentionSm90Params p = sm90_params(a, kSlimRows);
  cuda::Launch launch;
  launch.symbol = "attention_sm90_slim_" + cuda::type_name(a.q.dtype) + "_d" + std::to_string(dim);
  launch.block = kSlimThreads;
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms);
  launch.overlapped = true;
  launch.sharedBytes = kSlimSharedBytes;
  launch.set_params(p);
  launch.maps.push_back(attention_head_map(offsetof(AttentionSm90Params, q), a.q, a.heads, kSlimRows));
  launch.maps.push_back(attention_head_map(offsetof(AttentionSm90Params, k), a.k, a.heads, kSlimKeys));
  launch.maps.push_back(attention_head_map(offsetof(AttentionSm90Params, v), a.v, a.heads, kSlimKeys));
  return {"sm90_slim_d" + std::to_string(dim), 0, {}, {std::move(launch)}};
}

/** Adds the kernel for the row's heads: the narrowest. */
void add_slim_heads(const AttentionArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  int64_t below = 0;
  for (const int64_t dim : kSlimHeads) {
    if (out.allows({"sm90_slim_d", std::to_string(dim)}, small_heads_reason(a, below, dim, device))) out.add(slim_variant(a, dim, device));
    below = dim;
  }
}

/** Adds the kernel for the row's heads: the narrowest. */
void add_small_heads(const AttentionArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  int64_t below = 0;
  for (const int64_t dim : kSmallHeads) {
    if (out.allows({"sm90_d", std::to_string(dim)}, small_heads_reason(a, below, dim, device)))
      out.add(small_heads_variant(a, dim, device));
    below = dim;
  }
}

/** Whether it goes first: rounds of the device's blocks have no more rows than those of other tiles do. Measured on an H100
 * (docs/kernels/attention.md). */
bool slim_heads_win(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  if (a.q.channels() / a.heads > std::rbegin(kSlimHeads)[0]) return false;
  const auto rows = [&](int64_t tile) {
    const int64_t tiles = cuda::ceil_div(a.q.dim(2), tile) * a.q.dim(0) * a.q.dim(1) * a.heads;
    return cuda::ceil_div(tiles, device.numSms) * tile;
  };
  return rows(kSlimRows) <= std::min(rows(kSmallHeadsRows), rows(kStaggeredRows));
}

/** Whether tiles of 192 rows go before blocks for part of the keys: smaller heads where keys are many; heads of 64 but where its tiles
 * leave half of the multiprocessors idle and the choice may depend on their number. Measured on an H100: 1,024 tokens of 10 heads 18 us, in
 * small blocks 15. */
bool small_heads_win(const AttentionArgs& a, const cuda::DeviceInfo& device, bool varies) {
  const int64_t tiles = cuda::ceil_div(a.q.dim(2), kSmallHeadsRows) * a.q.dim(0) * a.q.dim(1) * a.heads;
  const bool many = a.k.dim(2) > 1024;  // keys, of which each small block loads all
  if (many) return true;
  return a.q.channels() / a.heads == 64 && (!varies || 2 * tiles > device.numSms);
}

/** Blocks of 64 rows in pairs; a block beyond the last row helps its neighbour load: each half the channels of all keys. */
cuda::Variant sm90_d512(const AttentionArgs& a) {
  AttentionSm90Params p = sm90_params(a, 64);
  p.numQTiles += p.numQTiles % 2;
  cuda::Launch launch;
  launch.symbol = "attention_sm90_" + cuda::type_name(a.q.dtype) + "_d512";
  launch.block = kAttentionD512Threads;
  launch.cluster = 2;
  const int64_t sequences = a.q.dim(0) * a.q.dim(1), keySequences = a.k.dim(0) * a.k.dim(1);
  launch.grid[0] = static_cast<uint32_t>(p.numQTiles * a.heads * sequences);
  launch.sharedBytes = kAttentionHeldSharedBytes;
  launch.set_params(p);
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, q), a.q, p.seqQ, sequences, 64));
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, k), a.k, p.seqK, keySequences, kAttentionHeldKeys));
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, v), a.v, p.seqK, keySequences, kAttentionHeldKeys));
  return {"sm90_d512", 0, {}, {std::move(launch)}};
}

}  // namespace

cuda::Reason attention_request_reason(const AttentionArgs& a) {
  return cuda::first_of({cuda::if_so(a.mask.present(), {"has no mask"}), cuda::if_so(a.cuQ.present(), {"has no packed sequences"}),
                         cuda::if_so(a.causal, {"has no causal mask"}), cuda::if_so(has_attention_window(a), {"has no window"})});
}

cuda::Candidates attention_cuda_variants(const AttentionArgs& given, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (!out.allows({"attention_*"}, row_reason(given))) return out;
  const HeadsStage stage(given);
  const AttentionArgs a = stage.staged();
  // The small blocks go ahead of the rest of the device's own for so few tokens: 3.9 us for 64 of 16 heads on an H200, where the portable
  // core takes 6 and larger tiles more.
  constexpr int64_t kFewTokens = 64;
  const bool few = a.axis == AttentionAxis::space && a.q.dim(2) <= kFewTokens && a.k.dim(2) <= kFewTokens;
  if (few) add_block_attention(a, device, true, out);
  const bool split = !few && split_attention_wins(a, device);
  if (split) add_split_attention(a, device, out);
  // First what is faster where both can: also for short sequences, whose tiles of 192 rows are emptier.
  const bool smallHeads = small_heads_win(a, device, !out.variance_reason());
  const bool slim = !few && !out.variance_reason() && slim_heads_win(a, device);
  if (slim) add_slim_heads(a, device, out);
  if (smallHeads) add_small_heads(a, device, out);
  if (out.allows({"sm90_d512"}, d512_reason(a, device))) out.add(sm90_d512(a));
  if (!few) {
    add_block_attention(a, device, true, out);
    add_range_attention(a, device, out);
  }
  add_portable_attention(a, device, out);
  if (few) add_range_attention(a, device, out);
  else add_block_attention(a, device, false, out);
  if (!smallHeads) add_small_heads(a, device, out);
  if (!slim) add_slim_heads(a, device, out);
  if (!split) add_split_attention(a, device, out);
  for (cuda::Variant& variant : out.variants) stage.add_to(variant);
  return out;
}

}  // namespace vd
