#include "../../native/generated/op_planners.h"

#include "../../device/norm_stats.h"

namespace vd {

std::vector<cuda::Plan> plan_group_norm_cuda(const GroupNormArgs& a, const cuda::DeviceInfo&) {
  using namespace vd::device;
  cuda::Plan plan;
  const bool vector = norm_vector(a.x, a.x2) && cuda::aligned16(a.y.data) && a.y.pitch % 8 == 0;
  plan.variant = vector ? "vector" : "scalar";
  const NormSource source = norm_source(a.x, a.x2);
  const NormShape shape = norm_shape(source, vector);
  const int framesPerRow = a.joinFrames ? static_cast<int>(a.x.dim(1)) : 1;
  // The workspace holds the affine maps, for float32 what rounding left of them, then the partials.
  const uint64_t affineCount = static_cast<uint64_t>(source.frames / framesPerRow) * a.y.channels();
  const size_t affineBytes = cuda::round_up(affineCount * 8, 256);
  const size_t restBytes = a.x.dtype == DType::f32 ? cuda::round_up(affineCount * 4, 256) : 0;
  const size_t partialOffset = affineBytes + restBytes;
  NormFinishParams finish{};
  finish.given = a.stats.as<float>();
  finish.statsPitch = a.stats.pitch;
  finish.weight = a.weight.data;
  finish.bias = a.bias.data;
  finish.weightType = static_cast<int32_t>(a.weight.dtype);
  finish.biasType = static_cast<int32_t>(a.bias.dtype);
  finish.groups = static_cast<int32_t>(a.groups);
  finish.framesPerRow = framesPerRow;
  finish.eps = a.eps;
  plan.workspaceBytes = partialOffset;
  if (!a.stats.present())
    plan.workspaceBytes += add_partial_launch(plan, "group_norm", source, vector, partialOffset, finish);
  cuda::Launch second = finish_launch("group_norm", source, finish);
  if (!a.stats.present()) second.relocations.push_back({offsetof(NormFinishParams, partial), cuda::Address::workspace(partialOffset)});
  second.relocations.push_back({offsetof(NormFinishParams, affine), cuda::Address::workspace(0)});
  if (restBytes > 0) second.relocations.push_back({offsetof(NormFinishParams, shiftRest), cuda::Address::workspace(affineBytes)});
  plan.launches.push_back(std::move(second));

  NormApplyParams p{};
  p.source = source;
  p.y = a.y.data;
  p.yPitch = a.y.pitch;
  p.act = static_cast<int32_t>(a.act);
  p.framesPerRow = framesPerRow;
  p.chunkPixels = shape.chunkPixels;
  p.numChunks = shape.numChunks;
  p.lanes = shape.lanes;
  cuda::Launch launch;
  launch.relocations.push_back({offsetof(NormApplyParams, affine), cuda::Address::workspace(0)});
  if (restBytes > 0) launch.relocations.push_back({offsetof(NormApplyParams, shiftRest), cuda::Address::workspace(affineBytes)});
  const char* type = a.x.dtype == DType::f16 ? "f16" : a.x.dtype == DType::bf16 ? "bf16" : "f32";
  launch.symbol = std::string("group_norm_apply_") + type + (vector ? "" : "_scalar");
  launch.grid[0] = static_cast<uint32_t>(shape.numChunks);
  launch.grid[1] = static_cast<uint32_t>(source.frames);
  launch.block = static_cast<uint32_t>(shape.threads);
  launch.set_params(p);
  plan.launches.push_back(std::move(launch));
  return {plan};
}

}  // namespace vd
