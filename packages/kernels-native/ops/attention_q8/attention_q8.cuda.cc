#include "../../native/generated/op_planners.h"

#include <algorithm>

#include "../../native/cuda/planning/attention_q8.h"

namespace vd {

namespace {

using namespace device;

constexpr uint64_t kAlignment = 256;

/** Where the codes and scales of q, k and v lie in the workspace. */
struct Places {
  uint64_t codes[3], scales[3], bytes = 0;
};

/** Has a cluster hold a head where it fits one: heads of 64 channels of a 16-bit type. rows: the most of a side. */
void hold_heads(const AttentionQ8Args& a, const AttentionCodesParams& p, int64_t rows, cuda::Launch& launch) {
  if (!p.vector || p.dim != 64 || !cuda::is_16_bit(a.q.dtype) || rows > kQ8MostHeldBlocks * kQ8HeldRows) return;
  launch.cluster = 1;
  while (rows > int64_t{launch.cluster} * kQ8HeldRows) launch.cluster *= 2;
  launch.symbol = std::string("attention_q8_codes_held_") + cuda::type_name(a.q.dtype);
  launch.block = kQ8HeldThreads;
  launch.grid[0] *= launch.cluster;
  launch.sharedBytes = static_cast<uint32_t>(cuda::ceil_div(cuda::ceil_div(rows, launch.cluster), kQ8Keys) * 64 * kQ8Keys);
}

/** The launch that makes codes and scales. transposed: as the Hopper kernel takes them. */
cuda::Launch codes_launch(const AttentionQ8Args& a, bool transposed, Places& places) {
  AttentionCodesParams p{};
  p.heads = static_cast<int32_t>(a.heads);
  p.dim = static_cast<int32_t>(a.q.channels() / a.heads);
  p.xType = static_cast<int32_t>(a.q.dtype);
  const bool full = a.values == AttentionValues::full;
  const Tensor* sides[] = {&a.q, &a.k, &a.v};
  const int numSides = full ? 2 : 3;
  bool vector = p.dim % 8 == 0;
  int64_t most = 0;
  for (int i = 0; i < numSides; ++i) {
    const Tensor& x = *sides[i];
    AttentionCodesSide& side = p.sides[i];
    side.x = x.data;
    side.pitch = x.pitch;
    side.rows = static_cast<int32_t>(x.dim(2));
    side.frames = static_cast<int32_t>(x.dim(0) * x.dim(1));
    side.isInt8 = i < 2 && a.scores == AttentionScores::i8;
    side.shrink = i < 2 && transposed && !side.isInt8 ? kQ8ScoreShrink : 1.0f;
    side.keepsNan = i == 1 && !side.isInt8;
    side.order = i == 2 && transposed ? CodeOrder::transposed : CodeOrder::rows;
    side.paddedRows = static_cast<int32_t>(side.order == CodeOrder::rows ? side.rows : cuda::round_up(side.rows, kQ8Keys));
    places.codes[i] = places.bytes;
    places.bytes += cuda::round_up(static_cast<uint64_t>(side.frames) * side.paddedRows * x.channels(), kAlignment);
    places.scales[i] = places.bytes;
    places.bytes += cuda::round_up(static_cast<uint64_t>(side.frames) * a.heads * sizeof(float), kAlignment);
    vector = vector && !cuda::access_reason(x, "", 8, false);
    most = std::max<int64_t>(most, side.frames);
  }
  p.vector = vector;
  cuda::Launch launch;
  launch.symbol = "attention_q8_codes";
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(most * a.heads);
  launch.grid[1] = static_cast<uint32_t>(numSides);
  if (transposed) hold_heads(a, p, std::max(a.q.dim(2), a.k.dim(2)), launch);
  launch.set_params(p);
  for (int i = 0; i < numSides; ++i) {
    const auto at = [&](size_t member) {
      return static_cast<uint32_t>(offsetof(AttentionCodesParams, sides) + i * sizeof(AttentionCodesSide) + member);
    };
    launch.relocations.push_back({at(offsetof(AttentionCodesSide, codes)), cuda::Address::workspace(places.codes[i])});
    launch.relocations.push_back({at(offsetof(AttentionCodesSide, scales)), cuda::Address::workspace(places.scales[i])});
  }
  return launch;
}

/** The parameters, but the addresses of codes and scales. */
AttentionQ8Params make_params(const AttentionQ8Args& a) {
  AttentionQ8Params p = cuda::attention_q8_params(a.q, a.k, a.y, a.heads, a.scale);
  p.isInt8 = a.scores == AttentionScores::i8;
  p.scaleStride = 1;
  p.qPitch = p.kPitch = a.q.channels();
  return p;
}

void add_scales(cuda::Launch& launch, const Places& places, bool values) {
  launch.relocations.push_back({offsetof(AttentionQ8Params, qScales), cuda::Address::workspace(places.scales[0])});
  launch.relocations.push_back({offsetof(AttentionQ8Params, kScales), cuda::Address::workspace(places.scales[1])});
  if (values) launch.relocations.push_back({offsetof(AttentionQ8Params, vScales), cuda::Address::workspace(places.scales[2])});
}

cuda::Reason sm90_reason(const AttentionQ8Args& a, const cuda::DeviceInfo& device) {
  return cuda::first_of({cuda::attention_q8_sm90_reason(a.y, a.heads, a.scale, device),
                         cuda::if_so(a.values == AttentionValues::full, {"rounds values, too"})});
}

cuda::Variant sm90_variant(const AttentionQ8Args& a, const cuda::DeviceInfo& device) {
  Places places;
  cuda::Variant variant;
  variant.name = "sm90_d64";
  variant.launches.push_back(codes_launch(a, true, places));
  const auto codes = [&](const Tensor& x, int side) -> cuda::AttentionCodes {
    return {cuda::Address::workspace(places.codes[side]), x.dim(0) * x.dim(1), x.dim(2), x.channels(), x.channels()};
  };
  cuda::Launch launch = cuda::attention_q8_sm90_launch(make_params(a), codes(a.q, 0), codes(a.k, 1),
                                                       cuda::Address::workspace(places.codes[2]), a.y.dtype, device);
  add_scales(launch, places, true);
  variant.launches.push_back(std::move(launch));
  variant.workspaceBytes = places.bytes;
  return variant;
}

cuda::Variant plain_variant(const AttentionQ8Args& a) {
  Places places;
  cuda::Variant variant;
  variant.name = "plain";
  variant.launches.push_back(codes_launch(a, false, places));
  AttentionQ8Params p = make_params(a);
  const bool full = a.values == AttentionValues::full;
  p.vPitch = full ? a.v.pitch : a.v.channels();
  p.vRows = full ? a.v.data : nullptr;
  cuda::Launch launch = cuda::attention_q8_plain_launch(p, a.q.pixels());
  launch.relocations.push_back({offsetof(AttentionQ8Params, qCodes), cuda::Address::workspace(places.codes[0])});
  launch.relocations.push_back({offsetof(AttentionQ8Params, kCodes), cuda::Address::workspace(places.codes[1])});
  if (!full) launch.relocations.push_back({offsetof(AttentionQ8Params, vRows), cuda::Address::workspace(places.codes[2])});
  add_scales(launch, places, !full);
  variant.launches.push_back(std::move(launch));
  variant.workspaceBytes = places.bytes;
  return variant;
}

}  // namespace

cuda::Candidates attention_q8_cuda_variants(const AttentionQ8Args& a, const cuda::DeviceInfo& device,
                                            const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  const auto other = [&](const Tensor& t, const char* name) {
    return cuda::if_so(t.dtype != a.q.dtype, {"has another element type than q", {}, name});
  };
  if (!out.allows({"*"}, cuda::first_of({other(a.k, "k"), other(a.v, "v"), other(a.y, "y")}))) return out;
  if (out.allows({"sm90_d64"}, sm90_reason(a, device))) out.add(sm90_variant(a, device));
  out.add(plain_variant(a));
  return out;
}

}  // namespace vd
