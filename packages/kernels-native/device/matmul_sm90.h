// Parameters of the Hopper matrix core behind conv and linear, and its tile shapes, shared by host and device.
#pragma once
#include <cstdint>

#include "epilogue.h"
#include "matmul_scales.h"
#include "tensor_map.h"

namespace vd::device {

/** A tile of output pixels is a box [tileF, tileH, tileW] of at most tileM pixels; the reduction runs over kernel taps
 *  and blocks of 128 bytes of channels, then over blocks of a second source. Linear is the case of one tap and W = all rows. */
struct MatmulSm90Params {
  TensorMap a;    // [B,F,H,W,C] of x
  TensorMap a2;   // of x2, linear only; kernels of clips: [B,N,H,W,C] of the frames in front of x
  TensorMap b;    // weights: [phases, N, taps, C]; geglu: [N/8, 2, 8, C]
  TensorMap y;         // [B,F,H,W,N], staged tiles only
  TensorMap residual;  // like y, where there is one
  TensorMap residual2;
  Epilogue epilogue;
  int32_t numKBlocks;   // steps of 128 bytes of the whole reduction
  int32_t numKBlocks1;  // those that read x
  int32_t blocksPerTap;
  int32_t channels;     // of x: where x2's weights start
  int32_t kernel[3];    // F, H, W
  int32_t stride[3];
  int32_t padding[3];   // front, top, left; with four phases the top and left padding is 1 - phase
  int32_t tile[3];      // F, H, W of the box
  int32_t tiles[3];
  int32_t out[3];       // output F, H, W of one phase
  int32_t framesFirst;  // boxes run over frames first
  int32_t numMTiles;
  int32_t numNTiles;
  uint32_t nTilesReciprocal;  // 2^32 / numNTiles, rounded up; 0: one tile
  int32_t numParts;     // of the columns, rows tiles only: a block takes the tiles of one part for its rows
  int32_t numPhases;    // 1, or 4 for a nearest-2x upsample: phase = 2 * (row & 1) + (column & 1)
  int32_t aBytes;       // bytes of one box
  int32_t constantWeights;  // nothing on the device writes the weights while the kernel may run: split tiles load them early
  int32_t groupTiles;   // tiles of columns of a group of channels, which x's map has in place of batches; 0: all channels mix
  // Kernels of clips only, whose boxes have one frame.
  int32_t pastFrames;   // numbered from -pastFrames to -1
  int32_t lastFrame;    // of x
  int32_t replicate;    // frames outside are the first or the last again
  MatmulScales scales;  // of 8-bit operands
  void* moments;        // kernels of moments only: float2 (mean, deviations) [tiles, N] of the pixels of each tile and phase
};

/** Parameters of rows tiles that normalise their rows: (x - mean) / sqrt(variance + eps) * weight + bias over a row's channels. */
struct MatmulTokenNormParams {
  MatmulSm90Params matmul;
  const float* normWeight;  // of each channel, or null: ones
  const float* normBias;    // or null: zeros
  float eps;
  const float* codeScale;   // what is normalised becomes float8 multiples of this; null: numbers of the rows' type
};

/** Which kernel a tile shape is for: matmul_sm90.cuh; matmul_sm90_rows.cuh, linear with 320 channels, each consumer warpgroup
 *  keeps 64 rows in registers, where token_rows normalise them; matmul_sm90_halves.cuh, geglu, one warpgroup lags behind the other;
 * matmul_sm90_split.cuh, the blocks of a cluster share one tile; matmul_sm90_bordered.cuh, the same of 3x3 filters whose source comes once
 * for all taps; matmul_sm90_normed.cuh, 3x3 filters whose source is normalised on the way;
 * matmul_sm90_walk.cuh, 3x1x1 filters of which the same is true; matmul_sm90_stationary.cuh, 3x3 filters that stay in shared memory. */
enum class MatmulKernel : uint8_t { tiles, rows, token_rows, halves, split, bordered, normed, walk, stationary };

/** A tile shape: rows and columns of a block, columns of one wgmma, pipeline stages, blocks per cluster. */
struct MatmulTile {
  int tileM, tileN, width, stages, cluster;
  bool pingpong;    // each consumer warpgroup owns a whole tile, so one stores while the other multiplies
  bool activation;  // the epilogue knows activations besides geglu; they cost code, so large tiles leave them out
  bool generic;     // the epilogue takes any types and ragged or unaligned columns
  bool staged;      // results and residual pass through shared memory by the copy engine: one frame a tile, no phases
  MatmulKernel kernel;
  const char* name;
  int promote = 0;       // 8-bit operands: blocks of the reduction whose sum is added to float32 registers; 0: all are one sum
  bool blocked = false;  // 8-bit operands: each block has scales of its own
  bool wide = false;  // staged results are those of both warpgroups, not of one or of half the columns; of convolutions, four phases too
  bool codes = false;    // 8-bit operands: results of gated activations become codes of their type; staged
  bool floats = false;   // float32 operands, weights of 16 bits: matmul_sm90_floats.cuh
  bool rounds = false;   // the source is normalised on the way to float8 codes, and weights are of that type
};

inline constexpr MatmulTile kMatmulTiles[] = {
    {128, 256, 256, 4, 2, false, false, false, false, MatmulKernel::tiles, "m128n256"},
    {256, 160, 160, 4, 2, false, false, false, false, MatmulKernel::tiles, "m256n160"},
    {128, 128, 128, 6, 2, true, false, false, false, MatmulKernel::tiles, "m128n128pp"},
    {128, 160, 160, 6, 2, true, false, false, false, MatmulKernel::tiles, "m128n160pp"},
    {128, 128, 128, 6, 1, false, true, false, false, MatmulKernel::tiles, "m128n128"},
    {128, 64, 64, 8, 1, false, true, false, false, MatmulKernel::tiles, "m128n64"},
    {256, 32, 32, 6, 1, false, true, true, false, MatmulKernel::tiles, "m256n32"},
    {128, 128, 128, 5, 2, true, false, false, true, MatmulKernel::tiles, "m128n128ps"},
    {128, 160, 160, 4, 2, true, false, false, true, MatmulKernel::tiles, "m128n160ps"},
    {128, 256, 256, 4, 2, false, false, false, true, MatmulKernel::tiles, "m128n256s"},  // geglu only: half as many results fit
    {128, 128, 128, 11, 2, true, false, false, true, MatmulKernel::rows, "r128n128"},  // geglu only
    {128, 160, 160, 7, 2, true, false, false, true, MatmulKernel::rows, "r128n160"},
    {128, 256, 256, 4, 2, true, false, false, true, MatmulKernel::halves, "h128n256"},  // geglu only
    // Of 8-bit operands. Where a warpgroup has several sums, each is promoted by itself while the other warpgroup multiplies.
    {128, 192, 192, 5, 2, false, false, false, false, MatmulKernel::tiles, "m128n192p", 4},
    {256, 128, 128, 4, 2, false, false, false, false, MatmulKernel::tiles, "m256n128p", 1},
    {128, 256, 128, 4, 2, false, false, false, false, MatmulKernel::tiles, "m128n256p", 1},
    {128, 160, 160, 5, 2, false, false, false, false, MatmulKernel::tiles, "m128n160p", 4},
    {128, 128, 128, 6, 1, false, true, false, false, MatmulKernel::tiles, "m128n128p", 4},
    {256, 32, 32, 5, 1, false, true, true, false, MatmulKernel::tiles, "m256n32p", 4},
    {128, 128, 128, 6, 2, false, false, false, false, MatmulKernel::tiles, "m128n128b", 1, true},
    // Of few tiles.
    {128, 64, 64, 8, 1, false, true, true, false, MatmulKernel::split, "split_m128n64"},
    {128, 128, 128, 6, 1, false, true, true, false, MatmulKernel::split, "split_m128n128"},
    {128, 160, 160, 6, 1, false, true, true, false, MatmulKernel::split, "split_m128n160"},
    {128, 256, 256, 4, 1, false, true, true, false, MatmulKernel::split, "split_m128n256"},
    // The same of 8-bit operands whose sums are promoted; sums of integers fit as they are.
    {128, 64, 64, 8, 1, false, true, true, false, MatmulKernel::split, "split_m128n64p", 4},
    {128, 128, 128, 6, 1, false, true, true, false, MatmulKernel::split, "split_m128n128p", 4},
    {128, 160, 160, 6, 1, false, true, true, false, MatmulKernel::split, "split_m128n160p", 4},
    {128, 256, 128, 4, 1, false, true, true, false, MatmulKernel::split, "split_m128n256p", 1},
    {128, 128, 128, 6, 1, false, true, true, false, MatmulKernel::split, "split_m128n128b", 1, true},
    {128, 64, 64, 8, 1, false, true, false, false, MatmulKernel::tiles, "m128n64p", 4},
    // Of convolutions: results leave by the copy engine while the next tile begins. Float8 sums are folded, those of integers promoted.
    {128, 256, 256, 3, 2, false, false, false, true, MatmulKernel::tiles, "m128n256w", 0, false, true},
    {128, 256, 128, 3, 2, false, false, false, true, MatmulKernel::tiles, "m128n256pw", 1, false, true},
    {256, 128, 128, 3, 2, false, false, false, true, MatmulKernel::tiles, "m256n128pw", 1, false, true},
    // Where warpgroups take turns: sums are added in two parts of 64 rows, all stages of a sum stay until the second.
    {128, 128, 128, 5, 2, true, false, false, true, MatmulKernel::tiles, "m128n128psp", 5},
    // Gated activations that leave codes: half as many results of half the size leave room for one more stage.
    {128, 128, 128, 6, 2, true, false, false, true, MatmulKernel::tiles, "m128n128pc", 0, false, false, true},
    // For 128 columns: a quarter fewer bytes through L2 than two tiles of 128 rows.
    {256, 128, 128, 3, 2, false, false, false, true, MatmulKernel::tiles, "m256n128w", 0, false, true},
    // Of convolutions whose source is normalised on the way; stages are of weights alone.
    {128, 256, 256, 3, 2, false, false, false, true, MatmulKernel::normed, "normed_m128n256", 0, false, true},
    {256, 128, 128, 4, 2, false, false, false, true, MatmulKernel::normed, "normed_m256n128", 0, false, true},
    {128, 128, 128, 3, 1, false, false, false, true, MatmulKernel::walk, "walk_m128n128", 0, false, true},  // stages are frames
    // Of linears with 320 channels whose rows are normalised on the way.
    {128, 128, 128, 11, 2, true, false, false, true, MatmulKernel::token_rows, "normed_r128n128"},  // geglu only
    {128, 160, 160, 7, 2, true, false, false, true, MatmulKernel::token_rows, "normed_r128n160"},
    // Of float32: each block's products are added up from zero.
    {128, 128, 128, 6, 1, false, true, true, false, MatmulKernel::tiles, "m128n128f", 0, false, false, false, true},
    {128, 64, 64, 8, 1, false, true, true, false, MatmulKernel::tiles, "m128n64f", 0, false, false, false, true},
    // Of convolutions whose filters stay in shared memory, in 16 bits and in float8; stages are of sources.
    {128, 64, 64, 4, 1, true, true, false, true, MatmulKernel::stationary, "stationary_m128n64"},
    {128, 128, 128, 2, 1, true, false, false, true, MatmulKernel::stationary, "stationary_m128n128"},
    // Of few tiles of 3x3 filters; stages are of filters.
    {128, 128, 128, 9, 1, false, true, true, false, MatmulKernel::bordered, "bordered_m128n128"},
    {128, 160, 160, 8, 1, false, true, true, false, MatmulKernel::bordered, "bordered_m128n160"},
    // Of sources that become float8 codes on the way: frames, which are stages, and rows, whose gated activations leave codes again and
    // which else have a scale for each column.
    {128, 128, 128, 4, 1, false, false, false, true, MatmulKernel::walk, "walk_codes_m128n128", 0, false, true, false, false, true},
    {192, 128, 128, 7, 2, true, false, false, true, MatmulKernel::token_rows, "normed_r192n128c", 0, false, false, true, false, true},
    {128, 160, 160, 6, 2, true, false, false, true, MatmulKernel::token_rows, "normed_r128n160q", 0, false, false, false, false, true},
    // For columns that 160 divides.
    {128, 160, 160, 5, 2, false, false, false, true, MatmulKernel::tiles, "m128n160w", 0, false, true},
    // Queries, keys and values as codes, with one scale for all columns.
    {128, 192, 192, 6, 2, true, false, false, true, MatmulKernel::token_rows, "normed_r128n192c", 0, false, false, true, false, true},
};
/** Most blocks of 128 float8 products that one sum of the tensor cores may take. */
inline constexpr int kMostUnpromotedBlocks = 10;
/** Most sums of integers that a thread turns into results at once without spilling; larger tiles promote parts of them. */
inline constexpr int kMostIntegerSums = 64;
inline constexpr int kNumMatmulTiles = sizeof(kMatmulTiles) / sizeof(kMatmulTiles[0]);
inline constexpr int kMatmulThreads = 384;
/** Most blocks that share a split tile: what a cluster may have everywhere. */
inline constexpr int kMostSplitParts = 8;
/** Columns of stationary tiles of float8; those of 16 bits have other ones. */
inline constexpr int kStationaryCodeColumns = 128;
/** Channels of the sources of rows tiles. */
inline constexpr int kRowsChannels = 320;
/** Taps of the filters of normed and stationary tiles, and pixels of a line of their source: eight results beside each other see two more.
 */
inline constexpr int kFilterTaps = 9, kBorderedColumns = 8 + 2;

/** Of walk tiles: blocks of 64 channels of a frame, and pixels of each of two tiles. Stages are frames in turn, three of which 3x1x1
 *  filters see; filters stay in shared memory. For each tile a warpgroup multiplies and one normalises; a fifth moves. */
inline constexpr int kWalkBlocks = 2, kWalkBlockChannels = 64, kWalkPixels = 64, kWalkThreads = 5 * 128;
/** Of those of codes: frames of 16-bit numbers in turn, which become codes. */
inline constexpr int kWalkArrivals = 2;

/** Pixels of the source of such a tile: of lines of eight results, with what 3x3 filters see around them. */
constexpr int bordered_source_pixels(const MatmulTile& t) { return (t.tileM / 8 + 2) * kBorderedColumns; }

/** Bytes of the source, 64 channels of it, in whole patterns of the copy engine's swizzle. */
constexpr int bordered_source_bytes(const MatmulTile& t) { return (bordered_source_pixels(t) * 128 + 1023) / 1024 * 1024; }

/** True for tiles that the blocks of a cluster share, as many as the planner chooses. */
constexpr bool shares_tiles(const MatmulTile& t) { return t.kernel == MatmulKernel::split || t.kernel == MatmulKernel::bordered; }

/** True for tiles whose rows stay in registers. */
constexpr bool keeps_rows(const MatmulTile& t) { return t.kernel == MatmulKernel::rows || t.kernel == MatmulKernel::token_rows; }

/** Warpgroups of a rows tile that multiply, of 64 rows each, and threads of its block. */
constexpr int rows_groups(const MatmulTile& t) { return t.tileM / 64; }
constexpr int rows_threads(const MatmulTile& t) { return (rows_groups(t) + 1) * 128; }

/** True for rows tiles of gated activations: half as many columns of results as of products. */
constexpr bool gates_rows(const MatmulTile& t) { return t.tileN == 128; }

/** Bytes of weight and bias of all channels, where a tile normalises its rows. */
constexpr int token_norm_bytes(const MatmulTile& t) { return t.kernel == MatmulKernel::token_rows ? kRowsChannels * 8 : 0; }

/** Bytes of the results of a block that wait for the copy engine: a tile of each warpgroup, or with geglu half of one, or one of both. */
constexpr int matmul_staging_bytes(const MatmulTile& t) {
  // Two for each warpgroup: of half as many columns behind a gate, and half as large as codes.
  if (keeps_rows(t)) return 2 * t.tileM * t.tileN * (gates_rows(t) ? 2 : 4) / (t.codes ? 4 : 2);
  if (t.kernel == MatmulKernel::stationary) return t.tileM * t.tileN * 2;  // one for both in turn
  if (t.codes) return 2 * t.tileM * t.tileN;  // of a gate half of it is used
  if (t.kernel == MatmulKernel::halves) return t.tileM * t.tileN;
  return !t.staged ? 0 : t.pingpong ? 2 * t.tileM * t.tileN * 2 : t.tileM * t.tileN * (t.wide ? 2 : 1);
}

/** Dynamic shared memory of a tile: the ring of A and B stages, staged results, barriers, and 1 KiB to align it. Rows tiles
 *  have stages of A or B, and the biases of all columns; halves lie behind 2 KiB of static memory and tiles that normalise their rows
 *  behind nothing, which aligns them. */
constexpr int matmul_shared_bytes(const MatmulTile& t, int numColumnTiles) {
  // Two sources, stages of weights, and barriers: of stages, the residual, and three of each source.
  if (t.kernel == MatmulKernel::normed)
    return 2 * bordered_source_bytes(t) + t.stages * (t.tileN * 128 + 16) + matmul_staging_bytes(t) + 7 * 8 + 1024;
  // Filters, stages of sources, and barriers: of those two, and of the residual.
  if (t.kernel == MatmulKernel::stationary)
    return kFilterTaps * t.tileN * 128 + t.stages * (bordered_source_bytes(t) + 16) + matmul_staging_bytes(t) + 2 * 8 + 1024;
  // Two sources, stages of filters, and barriers: of those, and two of each source.
  if (t.kernel == MatmulKernel::bordered) return 2 * bordered_source_bytes(t) + t.stages * (t.tileN * 128 + 16) + 4 * 8 + 1024;
  // Frames, filters of three taps, results, biases of each tile, moments of one; barriers: of the filters, of each tile's residual, and
  // three of each frame of one. Nothing lies in front, which aligns them.
  if (t.kernel == MatmulKernel::walk && !t.rounds)
    return kWalkBlocks * (t.stages * t.tileM + 3 * t.tileN) * 128 + matmul_staging_bytes(t) + 2 * t.tileN * 4 + t.tileN * 8 +
           8 * (3 + 2 * 3 * t.stages);
  // Frames of codes and those that arrive; biases and scales; two barriers of each frame.
  if (t.kernel == MatmulKernel::walk)
    return (t.stages * t.tileM + kWalkArrivals * kWalkBlocks * t.tileM + 3 * t.tileN) * 128 + matmul_staging_bytes(t) + 4 * t.tileN * 4 +
           t.tileN * 8 + 8 * (3 + 2 * 2 * (t.stages + kWalkArrivals));
  const bool rows = keeps_rows(t), aligned = t.kernel == MatmulKernel::halves || t.kernel == MatmulKernel::token_rows;
  const int stage = rows ? (t.tileM > t.tileN ? t.tileM : t.tileN) * 128 : (t.tileM + t.tileN) * 128;
  return t.stages * (stage + 16) + matmul_staging_bytes(t) + token_norm_bytes(t) +
         (rows ? 16 * rows_groups(t) + numColumnTiles * t.tileN * (t.rounds && !t.codes ? 8 : 4) : 16) + (aligned ? 0 : 1024);
}

/** Static shared memory of a tile: biases, scales of columns where sums are promoted, and a kilobyte for each warp that turns fragments
 * into lines by itself. */
constexpr int matmul_static_bytes(const MatmulTile& t) {
  if (keeps_rows(t) || t.kernel == MatmulKernel::split || t.kernel == MatmulKernel::bordered || t.kernel == MatmulKernel::walk) return 0;
  const bool scales = t.kernel == MatmulKernel::stationary || (!t.pingpong && (t.promote > 0 || t.wide));
  const bool wide = t.wide && (t.kernel == MatmulKernel::tiles || t.kernel == MatmulKernel::normed);
  const bool shares = t.staged && !t.pingpong && !wide;  // both warpgroups have one set
  return (shares ? 1 : 2) * (scales ? 2 : 1) * t.tileN * 4 + (t.staged ? 0 : 8 * 1024);
}

}  // namespace vd::device
