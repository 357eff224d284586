#include "matmul_sm90.h"

#include <algorithm>
#include <utility>

#include "matmul_sm90_cost.h"
#include "matmul_sm90_tiles.h"

namespace vd::cuda {

using namespace device;

namespace {

/** The problem as a tile's kernel sees it, all but the tensor maps. box: of the results. groups: blocks of rows that a cluster
 *  takes at a time. */
MatmulSm90Params make_params(const MatmulProblem& p, const MatmulTile& tile, const Box& box, const DeviceInfo& device, int64_t& groups) {
  MatmulSm90Params params{};
  params.epilogue = p.epilogue;
  params.epilogue.biasType = static_cast<uint8_t>(DType::f32);
  params.scales = p.scales;
  params.blocksPerTap = static_cast<int32_t>(ceil_div(p.channels, block_channels(p)));
  params.numKBlocks1 = static_cast<int32_t>(num_blocks_of_x(p));
  params.numKBlocks = static_cast<int32_t>(num_blocks_of(p));
  params.channels = static_cast<int32_t>(p.channels);
  int64_t mTiles = p.out[0];
  for (int i = 0; i < 3; ++i) {
    params.kernel[i] = p.kernel[i];
    params.stride[i] = p.stride[i];
    params.padding[i] = p.padding[i];
    params.tile[i] = box[i];
    params.out[i] = static_cast<int32_t>(p.out[1 + i]);
    params.tiles[i] = static_cast<int32_t>(ceil_div(p.out[1 + i], box[i]));
    mTiles *= params.tiles[i];
  }
  params.numMTiles = static_cast<int32_t>(mTiles);
  params.numNTiles = static_cast<int32_t>(ceil_div(p.columns, tile.tileN));
  params.nTilesReciprocal = params.numNTiles == 1 ? 0 : static_cast<uint32_t>(ceil_div(int64_t{1} << 32, int64_t{params.numNTiles}));
  params.numPhases = p.phases;
  params.framesFirst = p.kernel[0] > 1 && p.kernel[1] * p.kernel[2] == 1;
  const bool own = keeps_rows(tile) || tile.kernel == MatmulKernel::halves;
  groups = ceil_div(mTiles, (keeps_rows(tile) ? rows_groups(tile) : own ? 2 : 1) * tile.cluster);
  params.numParts = keeps_rows(tile) ? column_parts(groups, params.numNTiles, device.numSms / tile.cluster) : 1;
  params.constantWeights = p.constantWeights;
  params.groupTiles = p.groups == 1 ? 0 : static_cast<int32_t>(p.columns / p.groups / tile.tileN);
  params.aBytes = box[0] * box[1] * box[2] * 128;
  params.pastFrames = p.past.present() ? static_cast<int32_t>(p.past.dim(1)) : 0;
  params.lastFrame = static_cast<int32_t>(p.source[1]) - 1;
  params.replicate = p.replicate;
  return params;
}

/** Adds the maps of all operands. source, box: as loaded, and of the results. */
void add_maps(Launch& launch, const MatmulProblem& p, const MatmulTile& tile, const Box& source, const Box& box) {
  activation_map(launch, offsetof(MatmulSm90Params, a), p.x, p, p.channels, source);
  if (p.channels2 > 0) activation_map(launch, offsetof(MatmulSm90Params, a2), p.x2, p, p.channels2, source);
  if (p.past.present()) {
    MatmulProblem before = p;
    before.source[1] = p.past.dim(1);
    activation_map(launch, offsetof(MatmulSm90Params, a2), p.past, before, p.channels, source);
  }
  weight_map(launch, p, tile, p.kernel[0] * p.kernel[1] * p.kernel[2]);
  if (!tile.staged) return;
  const Epilogue& e = p.epilogue;
  output_map(launch, offsetof(MatmulSm90Params, y), e.y, e.yPitch, p, box);
  if (e.residual != nullptr) output_map(launch, offsetof(MatmulSm90Params, residual), e.residual, e.residualPitch, p, box);
  if (e.residual2 != nullptr) output_map(launch, offsetof(MatmulSm90Params, residual2), e.residual2, e.residual2Pitch, p, box);
}

void set_normed_params(Launch& launch, const MatmulSm90Params& params, const NormedSource& source) {
  constexpr uint32_t kNorm = offsetof(MatmulNormedParams, norm);
  launch.set_params(MatmulNormedParams{params, source.norm});
  launch.relocations.push_back({kNorm + offsetof(MatmulSourceNorm, weight), source.weight});
  launch.relocations.push_back({kNorm + offsetof(MatmulSourceNorm, bias), source.bias});
}

void set_token_norm_params(Launch& launch, const MatmulSm90Params& params, const NormedTokens& norm) {
  launch.set_params(MatmulTokenNormParams{params, nullptr, nullptr, norm.eps, norm.codeScale});
  if (norm.weight.present) launch.relocations.push_back({offsetof(MatmulTokenNormParams, normWeight), norm.weight.address});
  if (norm.bias.present) launch.relocations.push_back({offsetof(MatmulTokenNormParams, normBias), norm.bias.address});
}

/** The launch of a tile's kernel, and its estimated cycles. chosen: the box of pixels for the tile's rows. */
std::pair<double, Launch> make_launch(const MatmulProblem& p, const MatmulTile& tile, const Box& chosen, const DeviceInfo& device) {
  const bool rows = keeps_rows(tile);
  const bool own = rows || tile.kernel == MatmulKernel::halves;  // each warpgroup has a tile of 64 rows
  // Sources are loaded in whole tiles, also where fewer rows are there: the kernels wait for all of a box's bytes.
  const bool normed = tile.kernel == MatmulKernel::normed, walks = tile.kernel == MatmulKernel::walk;
  const Box source = own ? Box{1, 1, tile.tileM} : borders_source(tile) ? Box{1, chosen[1] + 2, kBorderedColumns} : chosen;
  const Box box = own ? Box{1, 1, 64} : chosen;
  int64_t groups = 0;
  const MatmulSm90Params params = make_params(p, tile, box, device, groups);
  Launch launch;
  launch.symbol = std::string(p.symbolPrefix) + tile.name + p.suffix;
  launch.block = normed ? normed_threads(tile) : walks ? kWalkThreads : rows ? rows_threads(tile) : kMatmulThreads;
  launch.cluster = tile.cluster;
  launch.sharedBytes = matmul_shared_bytes(tile, params.numNTiles);
  // A block takes the same pixels of all frames, in two boxes.
  const int64_t boxes = static_cast<int64_t>(params.tiles[1]) * params.tiles[2];
  const int64_t tiles = walks ? p.out[0] * ceil_div(boxes, 2) : groups * (rows ? params.numParts : p.phases * params.numNTiles);
  int64_t clusters = std::min<int64_t>(tiles, device.numSms / tile.cluster);
  // A block keeps the filters of one tile of columns.
  if (tile.kernel == MatmulKernel::stationary) clusters -= clusters % params.numNTiles;
  launch.grid[0] = static_cast<uint32_t>(clusters * tile.cluster);
  double cost = 0;
  if (shares_tiles(tile)) {
    const auto [parts, cycles] = split_parts(p, tile, tiles, device);
    launch.cluster = static_cast<uint32_t>(parts);
    launch.grid[0] = static_cast<uint32_t>(tiles * parts);
    cost = cycles;
  } else {
    const double perItem = rows ? static_cast<double>(ceil_div(params.numNTiles, params.numParts)) : walks ? params.tiles[0] : 1;
    cost = static_cast<double>(ceil_div(tiles, clusters)) * perItem *
           tile_cycles(p, tile, params.numKBlocks, clusters * tile.cluster, tiles <= clusters);
  }
  if (normalises(tile)) set_normed_params(launch, params, *p.norm);
  else if (tile.kernel == MatmulKernel::token_rows) set_token_norm_params(launch, params, *p.tokenNorm);
  else launch.set_params(params);
  if (p.bias.present) launch.relocations.push_back({offsetof(MatmulSm90Params, epilogue) + offsetof(Epilogue, bias), p.bias.address});
  if (p.scales.x != nullptr)
    launch.relocations.push_back({offsetof(MatmulSm90Params, scales) + offsetof(MatmulScales, weight), p.weightScales});
  add_maps(launch, p, tile, source, box);
  return {cost, std::move(launch)};
}

/** Parts stand in the name: they decide the bits. */
std::string variant_name(const MatmulTile& tile, uint32_t cluster) {
  const std::string name = tile.name;
  if (!shares_tiles(tile)) return "sm90_" + name;
  const size_t end = name.find('_');
  return "sm90_" + name.substr(0, end) + std::to_string(cluster) + name.substr(end);
}

}  // namespace

bool floats_fill_tiles(int64_t pixels, int64_t columns) {
  constexpr int64_t kFewTiles = 16;
  return ceil_div(pixels, 128) * ceil_div(columns, 64) >= kFewTiles;
}

void add_matmul_sm90(const MatmulProblem& problem, const Variant& base, const DeviceInfo& device, Candidates& out) {
  std::vector<std::pair<double, Variant>> ranked;
  const Box boxes[2] = {choose_tile_box(problem, 128), choose_tile_box(problem, 256)};
  for (const MatmulTile& tile : kMatmulTiles) {
    static_assert(kMatmulTiles[0].tileM == 128 && kMatmulTiles[1].tileM == 256, "tiles have 128 or 256 rows");
    const Box box = tile_box(problem, tile, boxes);
    if (shares_tiles(tile) && !out.allows({"sm90_", tile.name}, out.variance_reason())) continue;
    if (!out.allows({"sm90_", tile.name}, tile_reason(problem, tile, box, device))) continue;
    auto [cost, launch] = make_launch(problem, tile, box, device);
    Variant variant = base;
    variant.name = variant_name(tile, launch.cluster);
    if (leaves_moments(problem, tile, box)) {
      launch.symbol += kMomentsSuffix;
      launch.relocations.push_back({offsetof(MatmulSm90Params, moments), Address::workspace(0)});
    }
    variant.launches.push_back(std::move(launch));
    ranked.emplace_back(cost, std::move(variant));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& entry : ranked) out.add(std::move(entry.second));
}

}  // namespace vd::cuda
