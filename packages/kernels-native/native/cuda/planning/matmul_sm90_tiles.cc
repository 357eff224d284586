#include "matmul_sm90_tiles.h"

namespace vd::cuda {

using namespace device;

namespace {

/** Why wide tiles cannot do the problem: they are of convolutions whose four phases, if there are as many, have whole boxes, and which sum
 * up 8-bit products in parts. */
Reason wide_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box) {
  const bool apart = p.phases != 1 && (p.out[3] % box[2] != 0 || p.columns % tile.tileN != 0);
  return first_of({if_so(!p.wide, {"is for convolutions, and for linear in float8"}), if_so(p.gated, {"has no gated activation"}),
                   if_so(bytes_of(p.x.dtype) > 1 && tile.promote > 0, {"is for 8-bit operands"}),
                   if_so(apart, {"upsamples where boxes cover rows and columns"}),
                   if_so(p.phases != 1 && p.epilogue.residual != nullptr, {"has no residual where it upsamples"})});
}

/** Why staged tiles cannot do the problem: they have no second residual without a first, no phases but for wide ones, and one vector of
 *  frame bias for a tile. */
Reason staged_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box) {
  const Epilogue& e = p.epilogue;
  const bool ofClip = e.frameBiasFrameStride == 0, ofAll = ofClip && e.frameBiasBatchStride == 0;
  // Wide tiles have one for each warpgroup's half: of rows, or of two frames. The frames of a clip may have one; where filters see one
  // frame, those of all clips follow each other, and boxes may lie in two.
  const bool halves = tile.wide && p.phases == 1 && box[0] == 2 && box[0] * box[1] * box[2] == tile.tileM;
  const bool inClip = p.out[1] == e.framesPerBatch || e.framesPerBatch % box[0] == 0;
  const bool frames = p.out[2] * p.out[3] * p.phases == e.pixelsPerFrame && (box[0] == 1 || halves || ofAll || (ofClip && inClip));
  const int64_t shared = int64_t{e.pixelsPerFrame} * (ofClip ? e.framesPerBatch : 1);
  const bool rows = p.out[1] * p.out[2] == 1 && (ofAll || shared % std::min(box[2], tile.wide ? tile.tileM / 2 : tile.tileM) == 0);
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
  const bool pairs = keeps_rows(tile) ? gates_rows(tile) : true;
  return first_of({if_so(!linear || p.phases != 1, {"is for linear"}), if_so(p.channels2 != 0, {"has no x2"}),
                   if_so(keeps_rows(tile) && p.channels != kRowsChannels, {"is for # channels, x has #", {kRowsChannels, p.channels}}),
                   if_so(e.frameBias != nullptr, {"has no frame bias"}), if_so(e.residual2 != nullptr, {"has no second residual"}),
                   if_so(tile.rounds && tile.codes && p.scales.weightStride != 0, {"has one scale for all columns"}),
                   if_so(tile.rounds && rows_groups(tile) > 2 && p.x.dtype != DType::f16, {"is for float16"}),
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

/** Why a tile's kernel reads another source than the problem's. */
Reason source_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (tile.kernel == MatmulKernel::token_rows) return if_so(!p.tokenNorm, {"is for rows that are normalised on the way"});
  if (!normalises(tile)) return if_so(p.norm || p.tokenNorm, {"normalises no source"});
  const bool walks = tile.kernel == MatmulKernel::walk, overFrames = p.kernel[0] == 3;
  constexpr int64_t kMost = kWalkBlocks * kWalkBlockChannels;
  return first_of({if_so(!p.norm, {"is for sources that are normalised on the way"}),
                   if_so(walks && !overFrames, {"is for filters over frames"}),
                   if_so(!walks && overFrames, {"is for filters inside a frame"}),
                   if_so(walks && p.channels > kMost, {"is for up to # channels, x has #", {kMost, p.channels}}),
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
 *  none in which warpgroups have tiles of their own. */
Reason operands_reason(const MatmulProblem& p, const MatmulTile& tile) {
  const int64_t blocks = ceil_div(p.channels, 128) * p.kernel[0] * p.kernel[1] * p.kernel[2];
  if (tile.rounds || p.rounded) return if_so(tile.rounds != p.rounded, {"is for operands of other sizes"});
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
      {if_so(tile.kernel != MatmulKernel::tiles || (tile.staged && !tile.pingpong && !tile.wide), {"is not for 8-bit operands"}),
       if_so(p.gated && !gated, {"has no gated activation of 8-bit operands"}), blocks_reason(p, tile),
       if_so(!floats && !tile.blocked && tile.promote > 0 && sums <= kMostIntegerSums, {"is for float8"}),
       if_so(floats && tile.promote > 0 && tile.wide, {"is for integers"}),
       if_so(!floats && tile.promote == 0 && sums > kMostIntegerSums,
             {"has # sums a thread, of integers registers hold # beside the results", {sums, kMostIntegerSums}}),
       if_so(tile.promote == 0 && floats && !tile.wide && blocks > kMostUnpromotedBlocks,
             {"adds up at most # blocks of 128 float8 products, there are #", {kMostUnpromotedBlocks, blocks}})});
}

/** Why a tile does not leave what the problem wants, codes or numbers. The copy engine stores codes of results without an activation, or
 *  behind gates. */
Reason codes_reason(const MatmulProblem& p, const MatmulTile& tile) {
  if (!tile.codes) return if_so(p.codes && (p.gated || !(tile.generic || tile.activation)), {"leaves no codes of such results"});
  const Epilogue& e = p.epilogue;
  // The copy engine writes 16 bytes of a row, or none.
  const bool aligned = (reinterpret_cast<uint64_t>(e.y) & 15) == 0 && e.yPitch % 16 == 0;
  return first_of(
      {if_so(!p.codes, {"leaves codes"}), if_so(static_cast<DType>(e.yType) != operand_type(p), {"leaves codes of the type of x"}),
       if_so(!aligned, {"is not 16-byte aligned", {}, "y"}), if_so(e.n % 16 != 0, {"has # channels, which 16 does not divide", {e.n}, "y"}),
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

/** The box of such a tile: eight results beside each other are a group of a product's rows. */
Box bordered_box(const MatmulTile& tile) { return {1, tile.tileM / 8, 8}; }

}  // namespace

int64_t num_blocks_of_x(const MatmulProblem& p) {
  return ceil_div(p.channels, block_channels(p)) * p.kernel[0] * p.kernel[1] * p.kernel[2];
}
int64_t num_blocks_of(const MatmulProblem& p) { return num_blocks_of_x(p) + ceil_div(p.channels2, block_channels(p)); }

bool normalises(const MatmulTile& tile) { return tile.kernel == MatmulKernel::normed || tile.kernel == MatmulKernel::walk; }

bool leaves_moments(const MatmulProblem& p, const MatmulTile& tile, const Box& box) {
  const bool plain = !tile.activation && !tile.generic && (tile.pingpong == tile.staged || tile.wide) && !tile.blocked;
  const bool kernel = bytes_of(p.x.dtype) == 2 ? tile.promote == 0 && (tile.tileM == 128 || tile.wide)
                      : tile.promote > 0       ? !tile.staged || tile.wide
                                               : tile.staged;
  const bool leaves = tile.kernel == MatmulKernel::tiles || tile.kernel == MatmulKernel::stationary || normalises(tile);
  // Moments are of whole tiles: of walk tiles a box has half of the pixels.
  const bool fills = fills_frame(p, box, tile.kernel == MatmulKernel::walk ? kWalkPixels : tile.tileM) &&
                     p.epilogue.pixelsPerFrame / p.phases % tile.tileM == 0;
  return p.moments && !p.clip && p.groups == 1 && leaves && plain && kernel && fills;
}

Box choose_tile_box(const MatmulProblem& p, int pixels) {
  if (p.moments) {
    const Box box = choose_frame_box(p, pixels);
    if (fills_frame(p, box, pixels)) return box;
  }
  return choose_box(p, pixels);
}

bool borders_source(const MatmulTile& tile) {
  return tile.kernel == MatmulKernel::normed || tile.kernel == MatmulKernel::stationary || tile.kernel == MatmulKernel::bordered;
}

Box tile_box(const MatmulProblem& p, const MatmulTile& tile, const Box (&chosen)[2]) {
  if (borders_source(tile)) return bordered_box(tile);
  if (tile.kernel == MatmulKernel::walk) return choose_frame_box(p, kWalkPixels);
  return chosen[tile.tileM == 256];
}

Reason tile_reason(const MatmulProblem& p, const MatmulTile& tile, const Box& box, const DeviceInfo& device) {
  return first_of({source_reason(p, tile), operands_reason(p, tile), groups_reason(p, tile), if_so(p.clip, clip_reason(tile)),
                   if_so(tile.staged, staged_reason(p, tile, box)), own_tiles_reason(p, tile), split_reason(p, tile),
                   bordered_reason(p, tile, device), stationary_reason(p, tile, device), tail_reason(p, tile),
                   shared_memory_reason(p, tile, box, device)});
}

}  // namespace vd::cuda
