// Parameters of 3x3 convolutions of a normalised clip to few channels, shared by host and device.
#pragma once
#include "../../device/epilogue.h"
#include "../../device/matmul_sm90_normed.h"

namespace vd::device {

/** Most output channels, and the tile of results of a block with the border of sources that it sees. */
inline constexpr int kNormedFewColumns = 4, kNormedFewH = 16, kNormedFewW = 32;
inline constexpr int kNormedFewSourceW = kNormedFewW + 2, kNormedFewPixels = (kNormedFewH + 2) * kNormedFewSourceW;
/** Each warp takes two times as many rows of products. */
inline constexpr int kNormedFewUnit = 32, kNormedFewWarps = (kNormedFewPixels + 2 * kNormedFewUnit - 1) / (2 * kNormedFewUnit);
inline constexpr int kNormedFewThreads = 32 * kNormedFewWarps;
inline constexpr int kNormedFewTaps = 9;

/** Products of a pixel with all filters: by tap, then by output channel. An odd pitch: neighbours lie in other banks. */
constexpr int normed_few_products(int columns) { return kNormedFewTaps * columns; }
constexpr int normed_few_pitch(int columns) { return normed_few_products(columns) | 1; }
/** Filters' bytes from one to the next in shared memory: half a line apart, so that two rows of lanes read a whole one. */
constexpr int normed_few_filter_bytes(int channels) { return 2 * channels + (channels % 64 == 0 ? 64 : 0); }
/** Columns of products in whole tiles of eight. */
constexpr int normed_few_tiles(int columns) { return (normed_few_products(columns) + 7) / 8; }

/** Dynamic shared memory: filters, scale and shift of every channel, products of every source pixel. */
constexpr int normed_few_shared_bytes(int columns, int channels) {
  return normed_few_tiles(columns) * 8 * normed_few_filter_bytes(channels) + 8 * channels +
         4 * kNormedFewPixels * normed_few_pitch(columns);
}

struct NormedFewParams {
  const void* x;        // [frames, height, width, channels]
  const void* weights;  // [columns, taps, channels], in the type of x
  Epilogue epilogue;
  MatmulSourceNorm norm;
  int32_t pitch;        // elements between pixels; those of a frame can be counted in 31 bits
  int32_t height, width, channels, columns;
  int32_t products, productPitch;  // of a pixel: normed_few_products, normed_few_pitch
  int32_t filterPitch;             // normed_few_filter_bytes
};

}  // namespace vd::device
