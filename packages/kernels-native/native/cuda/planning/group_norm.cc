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

/** Pixels of a lane in the last pass, at most: two rounds of 64 bytes in 16 bits. */
constexpr int kApplyPixels = 8;

Launch apply_launch(const GroupNormOperands& a, const std::string& symbol, const NormSource& source, const NormShape& shape, bool vector,
                    int framesPerRow, const Workspace& workspace, const DeviceInfo& device) {
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
  launch.overlapped = device.smVersion >= 90;
  launch.symbol = symbol + "_apply_" + type_name(a.x.dtype) + (vector ? "" : "_scalar");
  launch.grid[0] = static_cast<uint32_t>(p.numChunks);
  launch.grid[1] = static_cast<uint32_t>(source.frames);
  launch.block = static_cast<uint32_t>(shape.threads);
  launch.set_params(p);
  return launch;
}

/** How a cluster holds a row: channels and pixels of a block, blocks, and which kernel, if any. */
struct HeldShape {
  int64_t setChannels = 0, rowPixels = 0, blockPixels = 0, numBlocks = 0;
  const NormHeldShape* kernel = nullptr;
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

/** The fewest blocks, each of them a power of two, whose threads hold a row in so many vectors; more than there may be where none do. */
int64_t held_blocks(int64_t rowPixels, int64_t lanes, int64_t vectors) {
  int64_t blocks = 1;
  while (blocks <= kMostHeldBlocks && ceil_div(ceil_div(rowPixels, blocks), lanes) > vectors) blocks *= 2;
  return blocks;
}

/** Blocks follow from the row alone: few vectors a thread where two rows then fill a device three times at most, else many. Measured on
 *  an H100: docs/kernels/group_norm.md. */
HeldShape held_shape(const GroupNormOperands& a, const NormSource& source, int framesPerRow) {
  constexpr int64_t kRowBlocks = 128;
  const int64_t channels = source.channels + source.channels2;
  const int elementBytes = bytes_of(a.x.dtype);
  HeldShape shape;
  shape.setChannels = held_channels(channels, channels / a.groups, elementBytes);
  shape.rowPixels = int64_t{source.pixels} * framesPerRow;
  if (shape.setChannels == 0) return shape;
  const int64_t lanes = kNormHeldThreads * 8 / shape.setChannels, sets = channels / shape.setChannels;
  for (const NormHeldShape* kernel : {&kNormHeldFew, &kNormHeldMany}) {
    const int64_t blocks = held_blocks(shape.rowPixels, lanes, held_vectors(*kernel, elementBytes));
    if (blocks > kMostHeldBlocks || (kernel == &kNormHeldFew && sets * blocks > kRowBlocks)) continue;
    shape.kernel = kernel;
    shape.numBlocks = blocks;
    shape.blockPixels = ceil_div(shape.rowPixels, blocks);
    return shape;
  }
  return shape;
}

/** Why a cluster of blocks cannot hold the rows. */
Reason held_reason(const GroupNormOperands& a, const HeldShape& shape, bool vector, const DeviceInfo& device) {
  const int64_t groupChannels = a.y.channels() / a.groups;
  return first_of({if_so(device.smVersion < 90, {"needs compute capability 9.0"}), if_so(a.stats.present(), {"computes statistics itself"}),
                   if_so(!vector, {"moves 16 bytes at a time"}),
                   if_so(groupChannels < 8 && groupChannels != 4, {"is for groups of 4, 8 or more channels, they have #", {groupChannels}}),
                   if_so(shape.setChannels == 0, {"has no set of whole groups and vectors that divides the channels"}),
                   if_so(shape.kernel == nullptr,
                         {"holds rows in the registers of # blocks, they have # pixels", {kMostHeldBlocks, shape.rowPixels}})});
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
  p.constantWeights = a.weight.constant && a.bias.constant;
  Launch launch;
  launch.symbol = symbol + "_held_" + type_name(a.x.dtype) + (shape.kernel == &kNormHeldFew ? "_few" : "_many");
  const int64_t rows = int64_t{source.frames} * source.pixels / shape.rowPixels;
  launch.grid[0] = static_cast<uint32_t>(rows * (a.y.channels() / shape.setChannels) * shape.numBlocks);
  launch.block = kNormHeldThreads;
  launch.cluster = static_cast<uint32_t>(shape.numBlocks);
  launch.overlapped = true;
  launch.set_params(p);
  return launch;
}

/** Whether all blocks of a launch run at once. device.clusters counts those of which each block has a multiprocessor. */
bool runs_at_once(const Launch& launch, const NormHeldShape& kernel, const DeviceInfo& device) {
  const int known = launch.cluster > 1 ? device.clusters[launch.cluster] * static_cast<int>(launch.cluster) : device.numSms;
  return launch.grid[0] <= static_cast<uint32_t>(known > 0 ? known * kernel.blocks : device.numSms);
}

/** Adds the one launch, before the others where all its blocks run at once: where blocks come one after the other it takes longer than they
 *  do. */
void add_held(const GroupNormOperands& a, const std::string& symbol, bool vector, const DeviceInfo& device, Candidates& out) {
  const NormSource source = norm_source(a.x, a.x2);
  const HeldShape shape = held_shape(a, source, a.joinFrames ? static_cast<int>(a.x.dim(1)) : 1);
  if (!out.allows({"held"}, first_of({held_reason(a, shape, vector, device), out.variance_reason()}))) return;
  Variant variant;
  variant.name = "held";
  variant.launches.push_back(held_launch(a, symbol, source, shape));
  const bool once = runs_at_once(variant.launches[0], *shape.kernel, device);
  out.variants.insert(once ? out.variants.begin() : out.variants.end(), std::move(variant));
}

}  // namespace

void add_group_norm(const GroupNormOperands& a, const std::string& symbol, const DeviceInfo& device, Candidates& out) {
  const bool vector = out.allows({"vector"}, first_of({norm_vector_reason(a.x, a.x2), access_reason(a.y, "y", 8, false)}));
  if (vector) out.reject({"scalar"}, kScalarReason);
  Variant variant;
  variant.name = vector ? "vector" : "scalar";
  const NormSource source = norm_source(a.x, a.x2);
  const NormShape shape = norm_shape(source, vector, device, bool(out.variance_reason()));
  const int framesPerRow = a.joinFrames ? static_cast<int>(a.x.dim(1)) : 1;
  const Workspace workspace = workspace_of(a, source.frames / framesPerRow);
  NormFinishParams finish = finish_params(a, framesPerRow);
  variant.workspaceBytes = workspace.partialOffset;
  if (!a.stats.present())
    variant.workspaceBytes += add_partial_launch(variant, symbol.c_str(), source, shape, vector, workspace.partialOffset, finish, device);
  Launch second = finish_launch(symbol.c_str(), source, finish, device);
  if (!a.stats.present()) second.relocations.push_back({offsetof(NormFinishParams, partial), Address::workspace(workspace.partialOffset)});
  second.relocations.push_back({offsetof(NormFinishParams, affine), Address::workspace(0)});
  if (workspace.restBytes > 0)
    second.relocations.push_back({offsetof(NormFinishParams, shiftRest), Address::workspace(workspace.restOffset)});
  variant.launches.push_back(std::move(second));
  variant.launches.push_back(apply_launch(a, symbol, source, shape, vector, framesPerRow, workspace, device));
  out.add(std::move(variant));
  add_held(a, symbol, vector, device, out);
}

}  // namespace vd::cuda
