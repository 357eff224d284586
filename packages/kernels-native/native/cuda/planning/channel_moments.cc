// The launches behind a convolution that find the moments of its result.
#include "channel_moments.h"

#include <algorithm>
#include <utility>

#include "../../../device/channel_moments.h"
#include "matmul_sm90.h"
#include "packs.h"

namespace vd::cuda {

namespace {

using namespace device;

/** True where a variant's kernel leaves the moments of its tiles in the workspace. */
bool leaves_moments(const Variant& variant) { return variant.launches.front().symbol.ends_with(kMomentsSuffix); }

/** A launch over all frames. offset: of the chunks' moments in the workspace. */
Launch moments_launch(std::string symbol, const ChannelMomentsParams& p, int64_t across, uint32_t threads, int64_t numFrames,
                      uint64_t offset) {
  Launch launch;
  launch.symbol = std::move(symbol);
  launch.grid[0] = static_cast<uint32_t>(across);
  launch.grid[1] = static_cast<uint32_t>(numFrames);
  launch.block = threads;
  launch.set_params(p);
  launch.relocations.push_back({offsetof(ChannelMomentsParams, partial), Address::workspace(offset)});
  return launch;
}

/** Brings the variants to the front that leave moments, that of the invariant tile before others. Returns how many there are. */
int64_t order(const MeasuredResult& result, std::vector<Variant>& variants, bool invariant) {
  const auto others = std::stable_partition(variants.begin(), variants.end(), leaves_moments);
  if (invariant) {
    std::stable_sort(variants.begin(), others, [](const auto& x, const auto& y) { return x.name < y.name; });
    std::stable_partition(variants.begin(), others, [&](const Variant& variant) { return variant.name == result.invariantTile; });
  }
  return others - variants.begin();
}

/** Puts what is missing behind a variant's own launches. */
void complete(const MeasuredResult& a, const DeviceInfo& device, Variant& variant) {
  const int64_t numFrames = a.y.dim(0) * a.y.dim(1);
  ChannelMomentsParams p{};
  p.y = a.y.data;
  p.yPitch = a.y.pitch;
  p.moments = a.moments.as<float>();
  p.momentsPitch = a.moments.pitch;
  p.channels = static_cast<int32_t>(a.y.channels());
  p.pixels = static_cast<int32_t>(a.y.dim(2) * a.y.dim(3));
  p.chunkPixels = kMomentsChunk;
  p.numChunks = static_cast<int32_t>(ceil_div(p.pixels, kMomentsChunk));
  const uint64_t offset = leaves_moments(variant) ? 0 : round_up(variant.workspaceBytes, 256);
  if (!leaves_moments(variant)) {
    const auto threads = static_cast<uint32_t>(std::min<uint64_t>(round_up(static_cast<uint64_t>(p.channels), 32), 256));
    variant.launches.push_back(
        moments_launch(a.op + "_moments_partial_" + type_name(a.y.dtype), p, p.numChunks, threads, numFrames, offset));
  }
  variant.launches.push_back(moments_launch(a.op + "_moments_merge", p, ceil_div(p.channels, kMomentsMergeChannels),
                                            kMomentsMergeChannels * kMomentsMergeRows, numFrames, offset));
  variant.launches.back().overlapped = device.smVersion >= 90;
  variant.workspaceBytes = offset + static_cast<uint64_t>(numFrames) * p.numChunks * p.channels * 8;
}

}  // namespace

void add_channel_moments(const MeasuredResult& result, const DeviceInfo& device, Candidates& out) {
  if (!result.moments.present() || out.variants.empty()) return;
  // Kernels that find moments themselves come first: others read the result again.
  const bool invariant = bool(out.variance_reason());
  const int64_t found = order(result, out.variants, invariant);
  if (invariant && found > 0) {
    for (size_t i = 1; i < out.variants.size(); ++i) out.reject({out.variants[i].name}, out.variance_reason());
    out.variants.resize(1);
  }
  for (Variant& variant : out.variants) complete(result, device, variant);
}

}  // namespace vd::cuda
