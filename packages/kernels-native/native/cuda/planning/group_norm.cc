#include "group_norm.h"

#include <algorithm>
#include <numeric>

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

/** Pixels of a lane in the last pass, at most: four rounds of 64 bytes in 16 bits. */
constexpr int kApplyPixels = 16;

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
  p.chunkPixels = std::min(shape.chunkPixels, kApplyPixels * shape.lanes);
  p.numChunks = static_cast<int32_t>(ceil_div(source.pixels, p.chunkPixels));
  p.lanes = shape.lanes;
  Launch launch;
  launch.relocations.push_back({offsetof(NormApplyParams, affine), Address::workspace(0)});
  if (workspace.restBytes > 0)
    launch.relocations.push_back({offsetof(NormApplyParams, shiftRest), Address::workspace(workspace.restOffset)});
  launch.symbol = symbol + "_apply_" + type_name(a.x.dtype) + (vector ? "" : "_scalar");
  launch.grid[0] = static_cast<uint32_t>(p.numChunks);
  launch.grid[1] = static_cast<uint32_t>(source.frames);
  launch.block = static_cast<uint32_t>(shape.threads);
  launch.set_params(p);
  return launch;
}

/** How a cluster holds a row: channels and pixels of a block, and blocks. */
struct HeldShape {
  int64_t setChannels = 0, rowPixels = 0, blockPixels = 0, numBlocks = 0, bytes = 0;
};

/** The least set of whole groups and whole vectors that is read in pieces of 64 bytes or more; 0 if there is none. */
int64_t held_channels(int64_t channels, int64_t groupChannels, int64_t elementBytes) {
  constexpr int64_t kLeastBytes = 64, kMostChannels = 256;
  const int64_t step = std::lcm<int64_t>(groupChannels, 8);
  int64_t best = 0;
  for (int64_t set = step; set <= std::min(channels, kMostChannels); set += step) {
    if (channels % set != 0) continue;
    best = set;
    if (set * elementBytes >= kLeastBytes) break;
  }
  return best;
}

/** Blocks follow from the row alone: as many as two rows fill a device with. */
HeldShape held_shape(const GroupNormOperands& a, const NormSource& source, int framesPerRow) {
  constexpr int64_t kLeastBlockBytes = 4 << 10, kMostBlockBytes = 48 << 10, kRowBlocks = 64, kMostBlocks = 8;
  const int64_t channels = source.channels + source.channels2, elementBytes = bytes_of(a.x.dtype);
  HeldShape shape;
  shape.setChannels = held_channels(channels, channels / a.groups, elementBytes);
  shape.rowPixels = int64_t{source.pixels} * framesPerRow;
  if (shape.setChannels == 0) return shape;
  const int64_t pixelBytes = shape.setChannels * elementBytes, rowBytes = shape.rowPixels * pixelBytes, sets = channels / shape.setChannels;
  const auto wants_more = [&](int64_t blocks) {
    return rowBytes > blocks * kMostBlockBytes || (sets * blocks < kRowBlocks && rowBytes >= 2 * blocks * kLeastBlockBytes);
  };
  shape.numBlocks = 1;
  while (shape.numBlocks < kMostBlocks && wants_more(shape.numBlocks)) shape.numBlocks *= 2;
  shape.blockPixels = ceil_div(shape.rowPixels, shape.numBlocks);
  shape.bytes = shape.blockPixels * pixelBytes;
  return shape;
}

/** Why a cluster of blocks cannot hold the rows. */
Reason held_reason(const GroupNormOperands& a, const HeldShape& shape, bool vector, const DeviceInfo& device) {
  constexpr int64_t kStaticBytes = 8 << 10, kMostBlockBytes = 104 << 10;
  const int64_t groupChannels = a.y.channels() / a.groups;
  const auto there = std::min<int64_t>(static_cast<int64_t>(device.sharedBytesPerBlock) - kStaticBytes, kMostBlockBytes);
  return first_of({if_so(device.smVersion < 90, {"needs compute capability 9.0"}), if_so(a.stats.present(), {"computes statistics itself"}),
                   if_so(!vector, {"moves 16 bytes at a time"}),
                   if_so(groupChannels < 8 && groupChannels != 4, {"is for groups of 4, 8 or more channels, they have #", {groupChannels}}),
                   if_so(shape.setChannels == 0, {"has no set of whole groups and vectors that divides the channels"}),
                   if_so(shape.bytes > there, {"needs # bytes of shared memory, a block has #", {shape.bytes, there}})});
}

/** The one launch of rows that clusters hold. */
Launch held_launch(const GroupNormOperands& a, const std::string& symbol, const NormSource& source, const HeldShape& shape) {
  NormHeldParams p{};
  p.source = source;
  p.weight = a.weight.data;
  p.bias = a.bias.data;
  p.yScale = a.yScale.as<const float>();
  p.y = a.y.data;
  p.yPitch = a.y.pitch;
  p.weightType = static_cast<int32_t>(a.weight.dtype);
  p.biasType = static_cast<int32_t>(a.bias.dtype);
  p.groupChannels = static_cast<int32_t>(a.y.channels() / a.groups);
  p.setChannels = static_cast<int32_t>(shape.setChannels);
  p.rowPixels = static_cast<int32_t>(shape.rowPixels);
  p.blockPixels = static_cast<int32_t>(shape.blockPixels);
  p.act = static_cast<int32_t>(a.act);
  p.isInt8 = a.y.dtype == DType::i8;
  p.eps = a.eps;
  Launch launch;
  launch.symbol = symbol + "_held_" + type_name(a.x.dtype);
  const int64_t rows = int64_t{source.frames} * source.pixels / shape.rowPixels;
  launch.grid[0] = static_cast<uint32_t>(rows * (a.y.channels() / shape.setChannels) * shape.numBlocks);
  launch.block = kNormHeldThreads;
  launch.cluster = static_cast<uint32_t>(shape.numBlocks);
  launch.overlapped = true;
  launch.sharedBytes = static_cast<uint32_t>(shape.bytes);
  launch.set_params(p);
  return launch;
}

/** Adds the one launch, before the others where all its blocks run at once: measured on an H200, it takes two thirds of their time there,
 *  and more than they do where blocks come one after the other. */
void add_held(const GroupNormOperands& a, const std::string& symbol, bool vector, const DeviceInfo& device, Candidates& out) {
  const NormSource source = norm_source(a.x, a.x2);
  const HeldShape shape = held_shape(a, source, a.joinFrames ? static_cast<int>(a.x.dim(1)) : 1);
  if (!out.allows({"held"}, first_of({held_reason(a, shape, vector, device), out.variance_reason()}))) return;
  Variant variant;
  variant.name = "held";
  variant.launches.push_back(held_launch(a, symbol, source, shape));
  const bool once = variant.launches[0].grid[0] <= static_cast<uint32_t>(device.numSms);
  out.variants.insert(once ? out.variants.begin() : out.variants.end(), std::move(variant));
}

}  // namespace

void add_group_norm(const GroupNormOperands& a, const std::string& symbol, const DeviceInfo& device, Candidates& out) {
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
  add_held(a, symbol, vector, device, out);
}

}  // namespace vd::cuda
