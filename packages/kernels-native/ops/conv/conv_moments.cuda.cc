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
  const auto others = std::stable_partition(out.variants.begin(), out.variants.end(), leaves_moments);
  if (others != out.variants.begin()) {
    const auto kept = std::stable_partition(
        others, out.variants.end(), [&](const cuda::Variant& variant) { return out.allows({variant.name}, out.variance_reason()); });
    out.variants.erase(kept, out.variants.end());
  }
  for (cuda::Variant& variant : out.variants) complete(a, variant);
}

}  // namespace vd
