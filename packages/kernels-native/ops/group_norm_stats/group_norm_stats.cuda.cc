#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/norm_stats.h"

namespace vd {

namespace {

/** The one launch of statistics from moments. */
cuda::Variant joined(const GroupNormStatsArgs& a, int smVersion) {
  device::NormJoinParams p{};
  p.moments = a.moments.as<float>();
  p.moments2 = a.moments2.as<float>();
  p.pitch = a.moments.pitch;
  p.pitch2 = a.moments2.pitch;
  p.stats = a.stats.as<float>();
  p.statsPitch = a.stats.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.channels2 = a.x2.present() ? static_cast<int32_t>(a.x2.channels()) : 0;
  p.groups = static_cast<int32_t>(a.groups);
  p.groupChannels = (p.channels + p.channels2) / p.groups;
  p.framesPerRow = a.joinFrames ? static_cast<int32_t>(a.x.dim(1)) : 1;
  p.eps = a.eps;
  cuda::Launch launch;
  launch.symbol = "group_norm_stats_join";
  launch.grid[0] = static_cast<uint32_t>(a.stats.dim(0) * a.stats.dim(1) * a.groups);
  launch.block = 128;
  launch.overlapped = smVersion >= 90;
  launch.set_params(p);
  cuda::Variant variant;
  variant.name = "join";
  variant.launches.push_back(std::move(launch));
  return variant;
}

}  // namespace

cuda::Candidates group_norm_stats_cuda_variants(const GroupNormStatsArgs& a, const cuda::DeviceInfo& device,
                                                const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (a.moments.present()) {
    out.add(joined(a, device.smVersion));
    return out;
  }
  const bool vector = out.allows({"vector"}, cuda::norm_vector_reason(a.x, a.x2));
  if (vector) out.reject({"scalar"}, cuda::kScalarReason);
  cuda::Variant variant;
  variant.name = vector ? "vector" : "scalar";
  const device::NormSource source = cuda::norm_source(a.x, a.x2);
  const cuda::NormShape shape = cuda::norm_shape(source, vector, device, bool(out.variance_reason()));
  device::NormFinishParams finish{};
  finish.stats = a.stats.as<float>();
  finish.statsPitch = a.stats.pitch;
  finish.groups = static_cast<int32_t>(a.groups);
  finish.framesPerRow = a.joinFrames ? static_cast<int32_t>(a.x.dim(1)) : 1;
  finish.eps = a.eps;
  variant.workspaceBytes = cuda::add_partial_launch(variant, "group_norm_stats", source, shape, vector, 0, finish, device);
  cuda::Launch second = cuda::finish_launch("group_norm_stats", source, finish, device);
  second.relocations.push_back({offsetof(device::NormFinishParams, partial), cuda::Address::workspace(0)});
  variant.launches.push_back(std::move(second));
  out.add(std::move(variant));
  return out;
}

}  // namespace vd
