// Parameters of the transforms of Winograd's F(4x4, 3x3), shared by host and device.
#pragma once
#include <cstdint>

#include "../../device/epilogue.h"

namespace vd::device {

/** Positions of a transformed tile: 6x6 pixels in, 4x4 out. */
inline constexpr int kWinogradPositions = 36, kWinogradStep = 4;
/** Channels and tiles of a block of the transforms; a warp transforms one tile, two channels a lane. */
inline constexpr int kWinogradChannels = 64, kWinogradTiles = 8, kWinogradThreads = 256;

/** Where the tiles of a launch lie: rows of tiles, counted over all frames, from `firstRow` on. */
struct WinogradTiles {
  int32_t height, width;          // of a frame
  int32_t tilesDown, tilesAcross;
  int32_t firstRow, numRows;
};

/** v[tile][position][channel] = Bᵀ d B of the 6x6 pixels around each tile, which may be normalised and activated first. */
struct WinogradInputParams {
  WinogradTiles tiles;
  const void* x;
  const void* x2;              // further channels, or null
  int64_t pitch, pitch2;
  int32_t channels, channels2;
  const float* stats;          // (mean, 1/sqrt(variance + eps)) at [row, group], or null: no norm
  int64_t statsPitch;          // elements from one pair to the next
  const void* normWeight;
  const void* normBias;
  int32_t normWeightType, normBiasType;
  int32_t groupChannels, groups;
  int32_t framesPerRow;        // of the statistics
  int32_t act;
  void* v;
};

/** y = tail(Aᵀ m A) for each tile of m[tile][position][column]. */
struct WinogradOutputParams {
  WinogradTiles tiles;
  Epilogue epilogue;           // bias float32, all other operands float16, 4-byte accesses
  const void* m;
};

}  // namespace vd::device
