// Variants of the Hopper matrix core and how their tiles lie in the output.
#pragma once
#include "kernel.cuh"
#include "matmul_sm90.h"

namespace vd::device {

/** One variant: element type, index into kMatmulTiles, whether the activation is gated (kGeglu, what the code calls both kinds),
 *  whether boxes are plain rows (linear), whether the gate is silu, not gelu, whether frames of x may lie in the past or repeat,
 *  the type of the operands, and whether somebody wants the moments of results. */
template <class T_, int kTileIndex, bool kGeglu_, bool kRowTiles_ = false, bool kSwiglu_ = false, bool kClip_ = false, class Operand_ = T_,
          bool kMoments_ = false>
struct MatmulConfig {
  using T = T_;              // of results, residuals and frame bias
  using Operand = Operand_;  // of x and weights
  static constexpr bool kScaled = sizeof(Operand) == 1;  // 8-bit operands have scales
  static constexpr int kBlock = 128 / sizeof(Operand);   // channels of a block of the reduction
  static constexpr MatmulTile kTile = kMatmulTiles[kTileIndex];
  static constexpr int kTileM = kTile.tileM, kTileN = kTile.tileN, kWidth = kTile.width, kStages = kTile.stages;
  static constexpr int kCluster = kTile.cluster;
  static constexpr bool kPingpong = kTile.pingpong, kGeglu = kGeglu_, kActivation = kTile.activation && !kGeglu;
  static constexpr bool kSwiglu = kSwiglu_, kClip = kClip_, kMoments = kMoments_;
  static constexpr bool kGeneric = kTile.generic, kStaged = kTile.staged, kRowTiles = kRowTiles_;
  static constexpr bool kWide = kTile.wide, kPhases = !kStaged || kWide;  // may be four phases
  static constexpr bool kGroups = !kStaged && !kRowTiles && !kClip && !kGeglu && !kScaled;  // may have groups of channels
  // The scales of columns lie beside the bias, and multiply with it: those of a whole tile in few instructions.
  static constexpr bool kStationary = kTile.kernel == MatmulKernel::stationary;
  static constexpr bool kColumnScales = kScaled && !kTile.blocked && (!kRowTiles || kWide) && !kGeglu && !kActivation && !kGeneric &&
                                        (kStationary || kTile.kernel == MatmulKernel::walk ||
                                         (kTile.kernel == MatmulKernel::tiles && !kPingpong && (kTile.promote > 0 || kWide)));
  static constexpr bool kStagedActivation = kActivation && kStaged;  // the staged tail has one behind the bias
  static constexpr bool kOwnStaging = kPingpong || kTile.kernel == MatmulKernel::walk;  // each warpgroup stages its own results
  static constexpr int kBiases = kTileN * (kColumnScales ? 2 : 1);
  static constexpr int kRows = kPingpong ? kTileM : kTileM / 2;  // of one warpgroup
  static constexpr int kRowBlocks = kRows / 64, kColBlocks = kTileN / kWidth;
  static constexpr int kStageBytesA = kTileM * 128, kStageBytesB = kTileN * 128;
  static constexpr int kHalfN = kTileN / 2;
  static constexpr bool kCodes = kTile.codes;  // results are codes of the operands' type
  static constexpr int kOutColumns = kTileN / (kGeglu ? 2 : 1), kStepColumns = kCodes ? 64 : 32;
  static constexpr int kSteps = kOutColumns / kStepColumns;  // the epilogue's steps of 64 bytes
  static constexpr int kStepBytes = kTileM * 64;           // of one step's results for a whole tile
  static constexpr int kStagingBytes = kSteps * kStepBytes;  // of one warpgroup (pingpong) or of the block
  static constexpr int kAllStagingBytes = matmul_staging_bytes(kTile);
  static_assert(kRows % 64 == 0 && kTileN % kWidth == 0, "a warpgroup multiplies 64 rows by kWidth columns");
  static_assert(kHalfN % 8 == 0 && kHalfN <= 256, "half a weight tile is one box of whole 8-row swizzle atoms");
  static_assert(!kGeglu || kWidth % 64 == 0, "geglu pairs blocks of 8 value and 8 gate columns, four pairs at a time");
  static_assert(kGeglu || kWidth % 32 == 0, "the epilogue transposes 32 columns at a time");
  static_assert(!kGeneric || !kGeglu, "geglu has typed operands only");
  static_assert(!kCodes || (kScaled && kPingpong && kStaged && kColBlocks == 1), "codes are staged, of one sum");
  static_assert(!kMoments || (kTileM % 128 == 0 && (kPingpong == kStaged || kWide) && (!kPingpong || kTileM == 128) && !kGeglu),
                "moments are of 128 staged rows, or of eight warps' lines");
  static_assert(!kStaged || (kPingpong && !kStationary ? 2 : 1) * kStagingBytes <= kAllStagingBytes, "staged results fit");
};

/** True where rows of x have scales that differ; else one multiplies all products. */
__device__ __forceinline__ bool matmul_has_row_scales(const MatmulSm90Params& p) {
  return p.scales.xStride[0] != 0 || p.scales.xStride[1] != 0 || p.scales.xStride[2] != 0;
}

/** Channels of a group from which on its pixels fill lines of memory. */
inline constexpr int kManyGroupChannels = 64;

struct MatmulTileIndex {
  int n, phase, m;
};
/** A block's turn as its tile of columns, and how often those ran before. */
struct MatmulTurn {
  int n, rest;
};
/** Columns run fastest. Without a division, whose 30 instructions would wait for each other in front of every tile's products. */
__device__ __forceinline__ MatmulTurn matmul_turn(const MatmulSm90Params& p, int tile) {
  const int above = p.nTilesReciprocal == 0 ? tile : static_cast<int>(__umulhi(tile, p.nTilesReciprocal));  // at most one too many
  const int n = tile - above * p.numNTiles;
  return n < 0 ? MatmulTurn{n + p.numNTiles, above - 1} : MatmulTurn{n, above};
}

/** Tile of columns, phase and box of pixels of a block's turn. Columns run fastest, so that blocks in flight share activations
 *  in L2; then boxes along rows, or frames first where taps lie in other frames: L2 holds no whole frame of a decoder. Groups of
 *  many channels run slowest, so that the weights of one stay in L2; those of few share the lines of pixels. */
template <class Config> __device__ __forceinline__ MatmulTileIndex matmul_tile_index(const MatmulSm90Params& p, int tile, int rank) {
  if constexpr (Config::kGroups) {
    if (p.groupTiles > 0 && p.channels >= kManyGroupChannels) {
      const int row = tile / p.groupTiles, rows = (p.numMTiles + Config::kCluster - 1) / Config::kCluster;
      return {row / rows * p.groupTiles + tile % p.groupTiles, 0, row % rows * Config::kCluster + rank};
    }
  }
  const auto [n, rest] = matmul_turn(p, tile);
  if constexpr (Config::kRowTiles) return {n, 0, rest * Config::kCluster + rank};
  int m = rest / p.numPhases * Config::kCluster + rank;
  if (p.framesFirst) {
    const int frame = m % p.tiles[0], place = m / p.tiles[0], places = p.tiles[1] * p.tiles[2];
    m = (place / places * p.tiles[0] + frame) * places + place % places;
  }
  return {n, rest % p.numPhases, m};
}

struct PixelBox {
  int w, h, f, b;  // first output pixel of the box, and its batch
};
__device__ __forceinline__ PixelBox pixel_box(const MatmulSm90Params& p, int m) {
  PixelBox box;
  box.w = m % p.tiles[2] * p.tile[2];
  m /= p.tiles[2];
  box.h = m % p.tiles[1] * p.tile[1];
  m /= p.tiles[1];
  box.f = m % p.tiles[0] * p.tile[0];
  box.b = m / p.tiles[0];
  return box;
}

/** The same for the box of a warpgroup's tile. Tiles of plain rows need no divisions, which would stand between results. */
template <class Config> __device__ __forceinline__ PixelBox tile_box(const MatmulSm90Params& p, int m) {
  if constexpr (Config::kRowTiles) return {m * Config::kTileM, 0, 0, 0};
  else return pixel_box(p, m);
}

/** Output pixel of tile row `row`, or -1 outside the output. */
__device__ __forceinline__ int64_t matmul_pixel(const MatmulSm90Params& p, const PixelBox& box, int phase, bool inside, int row) {
  const int dw = row % p.tile[2], dh = row / p.tile[2] % p.tile[1], df = row / (p.tile[2] * p.tile[1]);
  int w = box.w + dw, h = box.h + dh;
  const int f = box.f + df;
  if (!inside || df >= p.tile[0] || w >= p.out[2] || h >= p.out[1] || f >= p.out[0]) return -1;
  int width = p.out[2], height = p.out[1];
  if (p.numPhases == 4) {
    w = 2 * w + (phase & 1);
    h = 2 * h + (phase >> 1);
    width *= 2;
    height *= 2;
  }
  return (static_cast<int64_t>(box.b * p.out[0] + f) * height + h) * width + w;
}

}  // namespace vd::device
