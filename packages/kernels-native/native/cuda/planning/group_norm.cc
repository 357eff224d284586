#include "group_norm.h"

#include "norm_stats.h"

namespace vd::cuda {

namespace {

using namespace device;

/** What the workspace holds, in bytes: affine maps from its start, then for float32 what rounding left of them, then partials. */
struct Workspace {
  size_t restOffset, restBytes;
  size_t partialOffset;
};

Workspace workspace_of(const GroupNormOperands& a, int64_t numRows) {
  const uint64_t affineCount = static_cast<uint64_t>(numRows) * a.y.channels();
  const size_t affineBytes = round_up(affineCount * 8, 256);
  const size_t restBytes = a.x.dtype == DType::f32 ? round_up(affineCount * 4, 256) : 0;
  return {affineBytes, restBytes, affineBytes + restBytes};
}

NormFinishParams finish_params(const GroupNormOperands& a, int framesPerRow) {
  NormFinishParams p{};
  p.given = a.stats.as<float>();
  p.statsPitch = a.stats.pitch;
  p.weight = a.weight.data;
  p.bias = a.bias.data;
  p.weightType = static_cast<int32_t>(a.weight.dtype);
  p.biasType = static_cast<int32_t>(a.bias.dtype);
  p.groups = static_cast<int32_t>(a.groups);
  p.framesPerRow = framesPerRow;
  p.eps = a.eps;
  return p;
}

Launch apply_launch(const GroupNormOperands& a, const std::string& symbol, const NormSource& source, bool vector, int framesPerRow,
                    const Workspace& workspace) {
  const NormShape shape = norm_shape(source, vector);
  NormApplyParams p{};
  p.source = source;
  p.y = a.y.data;
  p.yPitch = a.y.pitch;
  p.yScale = a.yScale.as<const float>();
  p.isInt8 = a.y.dtype == DType::i8;
  p.act = static_cast<int32_t>(a.act);
  p.framesPerRow = framesPerRow;
  p.chunkPixels = shape.chunkPixels;
  p.numChunks = shape.numChunks;
  p.lanes = shape.lanes;
  Launch launch;
  launch.relocations.push_back({offsetof(NormApplyParams, affine), Address::workspace(0)});
  if (workspace.restBytes > 0)
    launch.relocations.push_back({offsetof(NormApplyParams, shiftRest), Address::workspace(workspace.restOffset)});
  launch.symbol = symbol + "_apply_" + type_name(a.x.dtype) + (vector ? "" : "_scalar");
  launch.grid[0] = static_cast<uint32_t>(shape.numChunks);
  launch.grid[1] = static_cast<uint32_t>(source.frames);
  launch.block = static_cast<uint32_t>(shape.threads);
  launch.set_params(p);
  return launch;
}

}  // namespace

void add_group_norm(const GroupNormOperands& a, const std::string& symbol, Candidates& out) {
  const bool vector = out.allows({"vector"}, first_of({norm_vector_reason(a.x, a.x2), access_reason(a.y, "y", 8, false)}));
  if (vector) out.reject({"scalar"}, kScalarReason);
  Variant variant;
  variant.name = vector ? "vector" : "scalar";
  const NormSource source = norm_source(a.x, a.x2);
  const int framesPerRow = a.joinFrames ? static_cast<int>(a.x.dim(1)) : 1;
  const Workspace workspace = workspace_of(a, source.frames / framesPerRow);
  NormFinishParams finish = finish_params(a, framesPerRow);
  variant.workspaceBytes = workspace.partialOffset;
  if (!a.stats.present())
    variant.workspaceBytes += add_partial_launch(variant, symbol.c_str(), source, vector, workspace.partialOffset, finish);
  Launch second = finish_launch(symbol.c_str(), source, finish);
  if (!a.stats.present()) second.relocations.push_back({offsetof(NormFinishParams, partial), Address::workspace(workspace.partialOffset)});
  second.relocations.push_back({offsetof(NormFinishParams, affine), Address::workspace(0)});
  if (workspace.restBytes > 0)
    second.relocations.push_back({offsetof(NormFinishParams, shiftRest), Address::workspace(workspace.restOffset)});
  variant.launches.push_back(std::move(second));
  variant.launches.push_back(apply_launch(a, symbol, source, vector, framesPerRow, workspace));
  out.add(std::move(variant));
}

}  // namespace vd::cuda
