// Plans the Hopper kernels for rows that see part of the keys (attention_range.sm90.cuh).
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "../../native/cuda/planning/attention_rows.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "attention_plans.h"
#include "attention_range.h"

namespace vd {

namespace {

using namespace device;

// HeadsStage finds the maps of q and k by their places in AttentionSm90Params.
static_assert(offsetof(AttentionRangeParams, q) == offsetof(AttentionSm90Params, q) &&
              offsetof(AttentionRangeParams, k) == offsetof(AttentionSm90Params, k));

/** Whether scores must be looked at one by one: a mask, or a window that leaves a row more than one range of keys. */
bool is_masked(const AttentionArgs& a) { return a.mask.present() || a.window[1] > 0 || a.window[2] > 0; }

cuda::Reason range_reason(const AttentionArgs& a, int64_t dim, bool masked, const cuda::DeviceInfo& device) {
  constexpr int kMost = *std::rbegin(kRangeDims);
  return cuda::first_of({cuda::wgmma_reason(device),
                         cuda::if_so(dim > kMost, {"is for heads of at most #, the row has heads of #", {kMost, dim}}),
                         cuda::if_so(dim % 8 != 0, {"is for heads of multiples of #, the row has heads of #", {8, dim}}),
                         cuda::if_so(a.axis != AttentionAxis::space, {"is for attention over space"}),
                         masked ? cuda::if_so(!is_masked(a), {"has neither a mask nor a window of rows or columns"})
                                : cuda::first_of({cuda::if_so(a.mask.present(), {"has no mask"}),
                                                  cuda::if_so(is_masked(a), {"has no window of rows or columns"})}),
                         cuda::copy_engine_reason(a.q, "q"), cuda::copy_engine_reason(a.k, "k"), cuda::copy_engine_reason(a.v, "v"),
                         cuda::copy_engine_reason(a.y, "y"), cuda::if_so(a.k.dim(2) == 0, {"has no keys", {}, "k"}),
                         cuda::if_so(!(a.scale > 0), {"needs a positive scale"})});
}

/** A map over [sequences, rows, heads, channels] whose box is 64 channels of `boxRows` rows of a head. */
cuda::TensorMapRequest head_map(uint32_t offset, const Tensor& t, int64_t heads, uint32_t boxRows) {
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

/** How many heads and frames take turns with their longest tiles, where tiles differ: as many as the cache holds the keys of. */
int32_t heads_together(const AttentionArgs& a, const AttentionLocalParams& rows, const cuda::DeviceInfo& device) {
  if (!a.causal) return 1;
  const auto bytes = static_cast<uint64_t>(rows.seqK) * rows.dim * 2 * 2;
  return static_cast<int32_t>(std::clamp<uint64_t>(device.l2Bytes * 3 / 4 / bytes, 1, rows.numHeadsFrames));
}

cuda::Variant range_variant(const AttentionArgs& a, int dim, bool masked, const cuda::DeviceInfo& device) {
  AttentionRangeParams p{};
  static_cast<AttentionMmaParams&>(p.rows) = cuda::attention_rows(a);
  p.rows.causal = 0;
  p.rows.sight = attention_sight(a);
  p.rows.numQTiles = static_cast<int32_t>(cuda::ceil_div(p.rows.seqQ, kRangeRows)) + (p.rows.numSequences ? p.rows.numSequences + 2 : 0);
  p.keyFrames = static_cast<int32_t>(a.k.dim(1));
  p.headsTogether = heads_together(a, p.rows, device);
  p.numTiles = p.rows.numQTiles * p.rows.numHeadsFrames;
  const std::string name = std::string(masked ? "masked" : "range") + "_d" + std::to_string(dim);
  cuda::Launch launch;
  launch.symbol =
      std::string("attention_sm90_") + (masked ? "masked_" : "range_") + cuda::type_name(a.q.dtype) + "_d" + std::to_string(dim);
  launch.block = kRangeThreads;
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms);
  launch.sharedBytes = range_shared_bytes(dim);
  launch.set_params(p);
  launch.maps.push_back(head_map(offsetof(AttentionRangeParams, q), a.q, a.heads, kRangeRows));
  launch.maps.push_back(head_map(offsetof(AttentionRangeParams, k), a.k, a.heads, kRangeKeys));
  launch.maps.push_back(head_map(offsetof(AttentionRangeParams, v), a.v, a.heads, kRangeKeys));
  return {"sm90_" + name, 0, {}, {std::move(launch)}};
}

}  // namespace

void add_range_attention(const AttentionArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const int64_t given = a.q.channels() / a.heads;
  const int* dim = std::find_if(std::begin(kRangeDims), std::end(kRangeDims), [&](int each) { return given <= each; });
  for (const bool masked : {false, true})
    if (out.allows({masked ? "sm90_masked_*" : "sm90_range_*"}, range_reason(a, given, masked, device)))
      out.add(range_variant(a, *dim, masked, device));
}

}  // namespace vd
