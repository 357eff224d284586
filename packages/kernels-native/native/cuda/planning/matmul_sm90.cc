#include "matmul_sm90.h"

#include <algorithm>
#include <utility>

#include "tensor_maps.h"

namespace vd::cuda {

using namespace device;

namespace {

/** Steps of 128 bytes of the reduction over x, and over both sources. */
int64_t num_blocks_of_x(const MatmulProblem& p) {
  return ceil_div(p.channels, block_channels(p)) * p.kernel[0] * p.kernel[1] * p.kernel[2];
}
int64_t num_blocks_of(const MatmulProblem& p) { return num_blocks_of_x(p) + ceil_div(p.channels2, block_channels(p)); }

/** Why wide tiles cannot do the problem: they are of convolutions whose four phases, if there are as many, have whole boxes, and which sum
 * up 8-bit products in parts. */
Reason wide_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box) {
  const bool apart = p.phases != 1 && (p.out[3] % box[2] != 0 || p.columns % tile.tileN != 0);
  return first_of({if_so(!p.wide, {"is for convolutions"}), if_so(p.gated, {"has no gated activation"}),
                   if_so(bytes_of(p.x.dtype) > 1 && tile.promote > 0, {"is for 8-bit operands"}),
                   if_so(apart, {"upsamples where boxes cover rows and columns"}),
                   if_so(p.phases != 1 && p.epilogue.residual != nullptr, {"has no residual where it upsamples"})});
}

/** Why staged tiles cannot do the problem: they have no second residual without a first, no phases but for wide ones, and one vector of
 *  frame bias for a tile. */
Reason staged_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box) {
  const Epilogue& e = p.epilogue;
  const bool frames = p.out[2] * p.out[3] * p.phases == e.pixelsPerFrame && box[0] == 1;
  const bool rows = p.out[1] * p.out[2] == 1 && e.pixelsPerFrame % box[2] == 0;
  return first_of({tile.wide ? wide_reason(p, tile, box) : if_so(p.phases != 1, {"has no upsampling"}),
                   if_so(e.residual2 != nullptr && (p.gated || e.residual == nullptr), {"has no such pair of residuals"}),
                   if_so(e.frameBias != nullptr && !frames && !rows, {"has one frame bias for a tile, and tiles would span frames"}),
                   if_so(!tile.pingpong && !tile.wide && !p.gated, {"is for gated activations"})});
}

/** Why the kernels in which warpgroups have tiles of their own cannot do the problem: they do linear with a plain tail, rows
 *  tiles with as many channels as the registers hold. */
Reason own_tiles_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (!keeps_rows(tile) && tile.kernel != MatmulKernel::halves) return {};
  const Epilogue& e = p.epilogue;
  const bool linear = p.out[1] * p.out[2] == 1 && p.source[3] == p.out[3] && p.kernel[0] * p.kernel[1] * p.kernel[2] == 1;
  const bool pairs = tile.tileN % 64 == 0;
  return first_of({if_so(!linear || p.phases != 1, {"is for linear"}), if_so(p.channels2 != 0, {"has no x2"}),
                   if_so(keeps_rows(tile) && p.channels != tile.channels, {"is for # channels, x has #", {tile.channels, p.channels}}),
                   if_so(e.frameBias != nullptr, {"has no frame bias"}), if_so(e.residual2 != nullptr, {"has no second residual"}),
                   if_so(pairs && !p.gated, {"is for gated activations"}), if_so(!pairs && p.gated, {"has no gated activation"})});
}

/** How many tiles of a shape whose source comes once for all taps a problem has. */
int64_t num_bordered_tiles(const MatmulProblem& p, const MatmulTile& tile) {
  return p.out[0] * p.out[1] * ceil_div(p.out[2], tile.tileM / 8) * ceil_div(p.out[3], 8) * ceil_div(p.columns, tile.tileN);
}

/** Why a tile whose source comes once for all taps of 3x3 filters cannot do the problem. */
Reason bordered_reason(const MatmulProblem& p, const MatmulTile& tile, const DeviceInfo& device) {
  if (tile.kernel != MatmulKernel::stationary && tile.kernel != MatmulKernel::bordered) return {};
  const bool filter = p.kernel[0] == 1 && p.kernel[1] == 3 && p.kernel[2] == 3 && p.padding[0] == 0 && p.source[1] == p.out[1];
  const bool step = p.stride[0] == 1 && p.stride[1] == 1 && p.stride[2] == 1 && p.phases == 1;
  // Of one tile after the other each would wait for the end of the one before: 64x64 pixels of 256 channels, 8 pictures, took 273 us
  // instead of 244 on an H100.
  const int64_t tiles = tile.kernel == MatmulKernel::bordered ? num_bordered_tiles(p, tile) : 0;
  return first_of({if_so(!filter, {"is for filters of 1x3x3"}), if_so(!step, {"has no strides and no upsampling"}),
                   if_so(tiles > device.numSms, {"is for # tiles at most, there are #", {device.numSms, tiles}})});
}

/** Why a tile whose filters stay in shared memory cannot do the problem. */
Reason stationary_reason(const MatmulProblem& p, const MatmulTile& tile, const DeviceInfo& device) {
  if (tile.kernel != MatmulKernel::stationary) return {};
  return first_of(
      {if_so(p.channels > block_channels(p), {"is for up to # channels, x has #", {block_channels(p), p.channels}}),
       if_so(p.columns > tile.tileN * device.numSms, {"has # columns at most, there are #", {tile.tileN * device.numSms, p.columns}})});
}

/** True for a tile whose kernel normalises its source. */
bool normalises(const MatmulTile& tile) { return tile.kernel == MatmulKernel::normed || walks_frames(tile); }

/** Why a tile's kernel reads another source than the problem's. */
Reason source_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (tile.kernel == MatmulKernel::token_rows) return if_so(!p.tokenNorm, {"is for rows that are normalised on the way"});
  if (!normalises(tile)) return if_so(p.norm || p.tokenNorm, {"normalises no source"});
  const bool walks = walks_frames(tile), overFrames = p.kernel[0] == 3;
  const int64_t most = kWalkBlocks * 64, least = tile.kernel == MatmulKernel::held_walk ? most - 63 : 1;
  return first_of({if_so(!p.norm, {"is for sources that are normalised on the way"}),
                   if_so(walks && !overFrames, {"is for filters over frames"}),
                   if_so(!walks && overFrames, {"is for filters inside a frame"}),
                   if_so(walks && p.channels > most, {"is for up to # channels, x has #", {most, p.channels}}),
                   if_so(walks && p.channels < least, {"is for # channels or more, x has #", {least, p.channels}}),
                   if_so(walks && p.columns > tile.tileN, {"is for up to # filters, there are #", {tile.tileN, p.columns}})});
}

/** Why a tile with scales of its own for each block, or without, is not for those of the problem. */
Reason blocks_reason(const MatmulProblem& p, const MatmulTile& tile) {
  return first_of(
      {if_so(tile.blocked && !p.blocked, {"is for scales of blocks"}), if_so(!tile.blocked && p.blocked, {"has no scales of blocks"})});
}

/** Why a split tile is not for 8-bit operands: sums of float8 are promoted, those of integers stay as they are, since they leave the
 *  registers before they become results. */
Reason split_operands_reason(const MatmulProblem& p, const MatmulTile& tile) {
  const bool floats = p.x.dtype == DType::f8e4m3, promoted = tile.promote > 0;
  return first_of({blocks_reason(p, tile), if_so(!tile.blocked && promoted && !floats, {"is for float8"}),
                   if_so(!promoted && floats, {"promotes no float8 sums"})});
}

/** Why a tile is not for the problem's operands: 8-bit operands have tiles of their own where sums are promoted or blocks scaled, and
 *  of those in which warpgroups have tiles of their own only rows that leave codes. */
Reason operands_reason(const MatmulProblem& p, const MatmulTile& tile) {
  const int64_t blocks = ceil_div(p.channels, 128) * p.kernel[0] * p.kernel[1] * p.kernel[2];
  if (tile.floats || p.x.dtype == DType::f32) return if_so(tile.floats != (p.x.dtype == DType::f32), {"is for operands of other sizes"});
  if (bytes_of(p.x.dtype) > 1)
    return if_so(tile.promote > 0 || (tile.kernel == MatmulKernel::stationary && tile.tileN == kStationaryCodeColumns),
                 {"is for 8-bit operands"});
  if (tile.kernel == MatmulKernel::split) return split_operands_reason(p, tile);
  if (tile.kernel == MatmulKernel::bordered) return {"is for operands of other sizes"};
  if (tile.kernel == MatmulKernel::stationary)
    return if_so(p.x.dtype != DType::f8e4m3 || tile.tileN != kStationaryCodeColumns, {"is for operands of other sizes"});
  const bool floats = p.x.dtype == DType::f8e4m3;
  const bool gated = tile.codes || (tile.promote > 0 ? tile.tileM == 256 && tile.tileN == 128 : !tile.staged);
  const int sums = tile.codes ? 0 : tile.tileM * tile.tileN / (tile.pingpong ? 128 : 256);  // codes are made of sums one by one
  return first_of(
      {if_so((tile.kernel != MatmulKernel::tiles && !(keeps_rows(tile) && tile.codes)) || (tile.staged && !tile.pingpong && !tile.wide),
             {"is not for 8-bit operands"}),
       if_so(p.gated && !gated, {"has no gated activation of 8-bit operands"}), blocks_reason(p, tile),
       if_so(!floats && !tile.blocked && tile.promote > 0 && sums <= kMostIntegerSums, {"is for float8"}),
       if_so(floats && tile.promote > 0 && tile.wide, {"is for integers"}),
       if_so(!floats && tile.promote == 0 && sums > kMostIntegerSums,
             {"has # sums a thread, of integers registers hold # beside the results", {sums, kMostIntegerSums}}),
       if_so(tile.promote == 0 && floats && !tile.wide && blocks > kMostUnpromotedBlocks,
             {"adds up at most # blocks of 128 float8 products, there are #", {kMostUnpromotedBlocks, blocks}})});
}

/** Why a tile does not leave what the problem wants, codes or numbers. The copy engine stores codes of gated activations. */
Reason codes_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (!tile.codes) return if_so(p.codes && (p.gated || !(tile.generic || tile.activation)), {"leaves no codes of such results"});
  const Epilogue& e = p.epilogue;
  // The copy engine writes 16 bytes of a row, or none.
  const bool aligned = (reinterpret_cast<uint64_t>(e.y) & 15) == 0 && e.yPitch % 16 == 0;
  return first_of({if_so(!p.codes || !p.gated, {"is for codes of gated activations"}),
                   if_so(static_cast<DType>(e.yType) != p.x.dtype, {"leaves codes of the type of x"}),
                   if_so(!aligned, {"is not 16-byte aligned", {}, "y"}),
                   if_so(e.n % 16 != 0, {"has # channels, which 16 does not divide", {e.n}, "y"}),
                   if_so(e.residual != nullptr, {"has no residual"}), if_so(e.frameBias != nullptr, {"has no frame bias"})});
}

/** Why the epilogue of a tile cannot do the problem's. */
Reason tail_reason(const MatmulProblem& p, const MatmulTile& tile) {
  const bool gated = !tile.generic && tile.width % 64 == 0 && !(tile.activation && tile.tileN == 128);
  return first_of({codes_reason(p, tile), if_so(p.gated && !gated, {"has no gated activation"}),
                   if_so(p.epilogue.act != 0 && !tile.activation, {"has no activation but gated ones"}), if_so(!tile.generic, p.untyped)});
}

/** True for a box that holds so many pixels of one frame, and boxes of which cover it. A pointwise problem has the pixels of all frames in
 *  one row. */
bool fills_frame(const MatmulProblem& p, const Box& box, int pixels) {
  const bool whole = p.epilogue.pixelsPerFrame / p.phases % pixels == 0;
  return whole && box[0] == 1 && box[1] * box[2] == pixels && p.out[2] % box[1] == 0 && p.out[3] % box[2] == 0;
}

/** True where a tile's kernel leaves the moments of its results. */
bool leaves_moments(const MatmulProblem& p, const MatmulTile& tile, const Box& box) {
  const bool plain = !tile.activation && !tile.generic && (tile.pingpong == tile.staged || tile.wide) && !tile.blocked;
  const bool kernel = bytes_of(p.x.dtype) == 2 ? tile.promote == 0 && (tile.tileM == 128 || tile.wide)
                      : tile.promote > 0       ? !tile.staged || tile.wide
                                               : tile.staged;
  const bool walks = walks_frames(tile);
  const bool leaves = tile.kernel == MatmulKernel::tiles || tile.kernel == MatmulKernel::stationary || normalises(tile);
  // Moments are of whole tiles: of walk tiles a box has half of the pixels.
  const bool fills = fills_frame(p, box, walks ? kWalkPixels : tile.tileM) && p.epilogue.pixelsPerFrame / p.phases % tile.tileM == 0;
  return p.moments && !p.clip && p.groups == 1 && leaves && plain && kernel && fills;
}

Reason shared_memory_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box, const DeviceInfo& device) {
  const int numColumnTiles = static_cast<int>(ceil_div(p.columns, tile.tileN));
  const int64_t slabs = leaves_moments(p, tile, box) && !tile.staged ? tile.tileM / 16 * 8 * tile.tileN : 0;  // moments of 16 rows each
  const int64_t needed = matmul_shared_bytes(tile, numColumnTiles) + matmul_static_bytes(tile) + slabs + 256;
  const auto there = static_cast<int64_t>(device.sharedBytesPerBlock);
  return if_so(needed > there, {"needs # bytes of shared memory, a block has #", {needed, there}});
}

/** Why the blocks of a cluster cannot share a tile. */
Reason split_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (tile.kernel != MatmulKernel::split) return {};
  return if_so(num_blocks_of(p) < 2, {"splits a reduction of two blocks or more"});
}

/** Why a tile has no kernel that reads past or repeated frames. */
Reason clip_reason(const MatmulTile& tile) {
  return if_so(tile.staged || tile.floats || tile.kernel != MatmulKernel::tiles, {"has no past frames and repeats none"});
}

/** Why a tile cannot do a problem of several groups of channels: a tile's columns are of one group, and the copy engine counts
 *  groups where it else counts batches. */
Reason groups_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (p.groups == 1) return {};
  const int64_t columns = p.columns / p.groups;
  return first_of({if_so(tile.staged || tile.kernel != MatmulKernel::tiles || p.clip || bytes_of(p.x.dtype) == 1, {"has no groups"}),
                   if_so(columns % tile.tileN != 0, {"has tiles of # columns, groups have #", {tile.tileN, columns}}),
                   if_so(p.source[0] != 1, {"has no groups and batches at once where filters reach over frames"})});
}

/** The box of pixels of one frame. */
Box choose_frame_box(const MatmulProblem& p, int pixels) {
  MatmulProblem frame = p;
  frame.out[0] = frame.out[1] = 1;
  return choose_box(frame, pixels);
}

/** The box of a tile's pixels. Where moments are wanted it follows from the frame alone, if that gives whole boxes: sums over them have the
 *  same bits however many frames there are. */
Box choose_tile_box(const MatmulProblem& p, int pixels) {
  if (p.moments) {
    const Box box = choose_frame_box(p, pixels);
    if (fills_frame(p, box, pixels)) return box;
  }
  return choose_box(p, pixels);
}

/** True for a tile whose source comes once for all taps, with the border that they see. */
bool borders_source(const MatmulTile& tile) {
  return tile.kernel == MatmulKernel::normed || tile.kernel == MatmulKernel::stationary || tile.kernel == MatmulKernel::bordered;
}

/** The box of such a tile: eight results beside each other are a group of a product's rows. */
Box bordered_box(const MatmulTile& tile) { return {1, tile.tileM / 8, 8}; }

/** The box of a tile. chosen: that of tiles of 128 and of 256 pixels which may lie as they like. */
Box tile_box(const MatmulProblem& p, const MatmulTile& tile, const Box (&chosen)[2]) {
  if (borders_source(tile)) return bordered_box(tile);
  if (walks_frames(tile)) return choose_frame_box(p, kWalkPixels);
  return chosen[tile.tileM == 256];
}

/** Why a tile cannot do the problem. */
Reason tile_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box, const DeviceInfo& device) {
  return first_of({source_reason(p, tile), operands_reason(p, tile), groups_reason(p, tile), if_so(p.clip, clip_reason(tile)),
                   if_so(tile.staged, staged_reason(p, tile, box)), own_tiles_reason(p, tile), split_reason(p, tile),
                   bordered_reason(p, tile, device), stationary_reason(p, tile, device), tail_reason(p, tile),
                   shared_memory_reason(p, tile, box, device)});
}

/** Bytes a cycle that a block reads through L2 beside so many others, fitted to an H200. */
double load_rate(int64_t numBlocks) { return std::min(67.0, 5280.0 / static_cast<double>(numBlocks)); }

/** How much longer than others the products of a tile of 8-bit operands, or of float32, take. Measured on an H200: sums that are promoted
 * after every block keep the tensor cores waiting, those of integers longer. */
double promotion_cost(const MatmulProblem& p, const MatmulTile& tile) {
  if (tile.floats) return 2.2;  // two products of tensor cores for one
  if (tile.promote != 1 || tile.blocked) return 1;
  return p.x.dtype == DType::i8 ? 1.35 : 1.15;
}

/** Cycles of a tile, fitted to an H200: products at the tensor rate or tiles through L2, then a tail in
 *  proportion to the columns. Pingpong hides the fixed part of the tail. The constants of rows tiles and of halves tiles (which
 *  take those of staged pingpong tiles) are fitted to SVD-XT's linears with 320 channels and 460800 rows, and elsewhere they are
 *  a guess; for SVD-XT's sizes the device's tuning table decides. */
double tile_cycles(const MatmulProblem& p, const MatmulTile& tile, int numKBlocks, int64_t numBlocks, bool alone) {
  // Codes: not timed yet, so last.
  if (keeps_rows(tile)) return tile.tileM * tile.tileN * (tile.codes ? 1 : p.gated ? 0.2 : 0.21);
  // The products of a stationary tile wait for nothing between them.
  const double waits = tile.kernel == MatmulKernel::stationary ? 1 : 1.1;
  const double products = tile.tileM * tile.tileN / 32.0 * numKBlocks * waits * promotion_cost(p, tile);
  const double rows = borders_source(tile) ? bordered_source_pixels(tile) / static_cast<double>(kFilterTaps) : tile.tileM;
  const double filters = tile.kernel == MatmulKernel::stationary ? 0 : tile.tileN / static_cast<double>(tile.cluster);
  const double loads = (rows + filters) * 128.0 / load_rate(numBlocks) * numKBlocks;
  const double direct = !p.gated ? 0.14 : tile.pingpong ? 0.21 : 0.16, staged = !p.gated ? 0.09 : tile.pingpong ? 0.12 : 0.13;
  // Measured on an H200: where there are 64 columns at most, wider tiles take up to half as long again as one of their width;
  // but not where a block has one tile.
  const double empty = p.columns <= 64 && tile.tileN > 64 ? (alone ? 1.3 : 1.6) : 1;
  // Measured on an H200: 8-bit operands, then gelu or silu, in tiles of 128 columns take up to twice as long as two of 64.
  const double activated = bytes_of(p.x.dtype) == 1 && p.epilogue.act != 0 && !p.gated && tile.tileN > 64 ? 2 : 1;
  // Measured on an H100: of a block's only tile one warpgroup computes all, and 64x64 pixels of 320 channels, 3x3, take 25 us instead
  // of 15.
  const bool taps = p.kernel[0] * p.kernel[1] * p.kernel[2] > 1;
  const double lone = tile.pingpong && alone && taps && tile.kernel == MatmulKernel::tiles ? 1.3 : 1;
  return activated * empty * lone *
         (std::max(products, loads) + tile.tileM * tile.tileN * (tile.staged ? staged : direct) +
          (tile.pingpong ? 0
           : tile.wide   ? 500
                         : 1500));
}

/** Into how many parts rows tiles cut the columns, so that clusters have equally many: each part loads the rows again. */
int column_parts(int64_t numRows, int numNTiles, int64_t numClusters) {
  int best = 1;
  double bestCost = 1e300;
  for (int parts = 1; parts <= std::min(numNTiles, 4); ++parts) {
    const double cost =
        static_cast<double>(ceil_div(numRows * parts, numClusters)) * (static_cast<double>(ceil_div(numNTiles, parts)) + 0.75);
    if (cost < bestCost) {
      bestCost = cost;
      best = parts;
    }
  }
  return best;
}

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
  params.numPhases = p.phases;
  params.framesFirst = p.kernel[0] > 1 && p.kernel[1] * p.kernel[2] == 1;
  const bool own = keeps_rows(tile) || tile.kernel == MatmulKernel::halves;
  groups = ceil_div(mTiles, own ? 2 * tile.cluster : tile.cluster);
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

/** Clusters of so many blocks that run at once. */
int64_t num_clusters(const DeviceInfo& device, int blocks) {
  constexpr int kGroup = 16;  // a cluster lies in one group of multiprocessors
  if (blocks == 1) return device.numSms;
  if (device.clusters[blocks] > 0) return device.clusters[blocks];
  return std::max(1, device.numSms / kGroup * (kGroup / blocks));
}

/** Into how many parts the blocks of a cluster cut the reduction of a tile, and its estimated cycles, fitted to an H200. */
std::pair<int, double> split_parts(const MatmulProblem& p, const MatmulTile& tile, int64_t numTiles, const DeviceInfo& device) {
  constexpr double kMergeRate = 16;  // bytes a cycle that a block reads of others' shared memory
  const bool bordered = tile.kernel == MatmulKernel::bordered;
  // Fitted to rows of live networks on an H100, as is what is fixed: tiles of 160 columns take longer than their products say.
  const double waits = bordered && tile.tileN > 128 ? 1.3 : 1.1;
  const int64_t numKBlocks = num_blocks_of(p);
  const double rows = borders_source(tile) ? bordered_source_pixels(tile) / static_cast<double>(kFilterTaps) : tile.tileM;
  const double products = tile.tileM * tile.tileN / 32.0 * waits * promotion_cost(p, tile), bytes = (rows + tile.tileN) * 128.0;
  const int fewest = bordered ? 1 : 2;
  std::pair<int, double> best{fewest, 1e300};
  for (int parts = fewest; parts <= std::min<int64_t>(kMostSplitParts, numKBlocks); ++parts) {
    const int64_t clusters = std::min(numTiles, num_clusters(device, parts));
    const double share = static_cast<double>(ceil_div(numKBlocks, parts)) * std::max(products, bytes / load_rate(clusters * parts));
    const double fixed = !bordered ? 4000 : parts == 1 ? 3000 : 4500;
    const double cycles = static_cast<double>(ceil_div(numTiles, clusters)) * (share + tile.tileM * tile.tileN * 4 / kMergeRate + fixed);
    if (cycles < best.second) best = {parts, cycles};
  }
  return best;
}

void set_normed_params(Launch& launch, const MatmulSm90Params& params, const NormedSource& source) {
  constexpr uint32_t kNorm = offsetof(MatmulNormedParams, norm);
  launch.set_params(MatmulNormedParams{params, source.norm});
  launch.relocations.push_back({kNorm + offsetof(MatmulSourceNorm, weight), source.weight});
  launch.relocations.push_back({kNorm + offsetof(MatmulSourceNorm, bias), source.bias});
}

void set_token_norm_params(Launch& launch, const MatmulSm90Params& params, const NormedTokens& norm) {
  launch.set_params(MatmulTokenNormParams{params, nullptr, nullptr, norm.eps});
  if (norm.weight.present) launch.relocations.push_back({offsetof(MatmulTokenNormParams, normWeight), norm.weight.address});
  if (norm.bias.present) launch.relocations.push_back({offsetof(MatmulTokenNormParams, normBias), norm.bias.address});
}

/** The launch of a tile's kernel, and its estimated cycles. chosen: the box of pixels for the tile's rows. */
std::pair<double, Launch> make_launch(const MatmulProblem& p, const MatmulTile& tile, const Box& chosen, const DeviceInfo& device) {
  const bool rows = keeps_rows(tile);
  const bool own = rows || tile.kernel == MatmulKernel::halves;  // each warpgroup has a tile of 64 rows
  // Sources are loaded in whole tiles, also where fewer rows are there: the kernels wait for all of a box's bytes.
  const bool normed = tile.kernel == MatmulKernel::normed, walks = walks_frames(tile);
  const Box source = own ? Box{1, 1, tile.tileM} : borders_source(tile) ? Box{1, chosen[1] + 2, kBorderedColumns} : chosen;
  const Box box = own ? Box{1, 1, 64} : chosen;
  int64_t groups = 0;
  const MatmulSm90Params params = make_params(p, tile, box, device, groups);
  Launch launch;
  launch.symbol = std::string(p.symbolPrefix) + tile.name + p.suffix;
  launch.block = normed ? normed_threads(tile) : tile.kernel == MatmulKernel::walk ? kWalkThreads : kMatmulThreads;
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
