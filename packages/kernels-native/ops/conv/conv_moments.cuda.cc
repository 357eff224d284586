// The launches behind a convolution that find the moments of its result.
#include <algorithm>

#include "conv_moments.h"
#include "conv_plans.h"

namespace vd {

namespace {

using namespace device;

/** True where a variant's kernel leaves the moments of its tiles in the workspace. */
bool leaves_moments(const cuda::Variant& variant) { return variant.launches.front().symbol.ends_with(cuda::kMomentsSuffix); }

/** A launch over all frames. offset: of the chunks' moments in the workspace. */
cuda::Launch moments_launch(std::string symbol, const ConvMomentsParams& p, int64_t across, uint32_t threads, int64_t numFrames,
                            uint64_t offset) {
  cuda::Launch launch;
  launch.symbol = std::move(symbol);
  launch.grid[0] = static_cast<uint32_t>(across);
  launch.grid[1] = static_cast<uint32_t>(numFrames);
  launch.block = threads;
  launch.set_params(p);
  launch.relocations.push_back({offsetof(ConvMomentsParams, partial), cuda::Address::workspace(offset)});
  return launch;
}

/** The tile whose kernel is the only one where a plan is batch-invariant, since kernels add up in orders of their own: by the filters
 * alone. Wide tiles pay where reductions are long. */
const char* invariant_tile(const ConvArgs& a) {
  constexpr int64_t kLongReduction = 1728;
  const int64_t columns = a.y.channels(), reduction = a.weight.count() / a.weight.dim(0);
  if (columns % 256 == 0 && reduction >= kLongReduction) return "sm90_m128n256";
  return columns % 128 != 0 && columns % 160 == 0 ? "sm90_m128n160ps" : "sm90_m128n128ps";
}

/** Brings the variants to the front that leave moments, that of the invariant tile before others. Returns how many there are. */
int64_t order(const ConvArgs& a, std::vector<cuda::Variant>& variants, bool invariant) {
  const auto others = std::stable_partition(variants.begin(), variants.end(), leaves_moments);
  if (invariant) {
    const std::string tile = invariant_tile(a);
    std::stable_sort(variants.begin(), others, [](const auto& x, const auto& y) { return x.name < y.name; });
    std::stable_partition(variants.begin(), others, [&](const cuda::Variant& variant) { return variant.name == tile; });
  }
  return others - variants.begin();
}

/** Puts what is missing behind a variant's own launches. */
void complete(const ConvArgs& a, cuda::Variant& variant) {
  const int64_t numFrames = a.y.dim(0) * a.y.dim(1);
  ConvMomentsParams p{};
  p.y = a.y.data;
  p.yPitch = a.y.pitch;
  p.moments = a.moments.as<float>();
  p.momentsPitch = a.moments.pitch;
  p.channels = static_cast<int32_t>(a.y.channels());
  p.pixels = static_cast<int32_t>(a.y.dim(2) * a.y.dim(3));
  p.chunkPixels = kMomentsChunk;
  p.numChunks = static_cast<int32_t>(cuda::ceil_div(p.pixels, kMomentsChunk));
  const uint64_t offset = leaves_moments(variant) ? 0 : cuda::round_up(variant.workspaceBytes, 256);
  if (!leaves_moments(variant)) {
    const auto threads = static_cast<uint32_t>(std::min<uint64_t>(cuda::round_up(static_cast<uint64_t>(p.channels), 32), 256));
    variant.launches.push_back(
        moments_launch("conv_moments_partial_" + cuda::type_name(a.y.dtype), p, p.numChunks, threads, numFrames, offset));
  }
  variant.launches.push_back(moments_launch("conv_moments_merge", p, cuda::ceil_div(p.channels, kMomentsMergeChannels),
                                            kMomentsMergeChannels * kMomentsMergeRows, numFrames, offset));
  variant.workspaceBytes = offset + static_cast<uint64_t>(numFrames) * p.numChunks * p.channels * 8;
}

}  // namespace

void add_conv_moments(const ConvArgs& a, cuda::Candidates& out) {
  if (!a.moments.present() || out.variants.empty()) return;
  // Kernels that find moments themselves come first: others read the result again.
  const bool invariant = bool(out.variance_reason());
  const int64_t found = order(a, out.variants, invariant);
  if (invariant && found > 0) {
    for (size_t i = 1; i < out.variants.size(); ++i) out.reject({out.variants[i].name}, out.variance_reason());
    out.variants.resize(1);
  }
  for (cuda::Variant& variant : out.variants) complete(a, variant);
}

}  // namespace vd
