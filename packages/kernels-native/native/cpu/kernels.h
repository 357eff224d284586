// The SIMD matrix kernel and its epilogue, which products run on.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../generated/op_args.h"
#include "kernel_table.h"

namespace vd::cpu {

/** Rows of the SIMD matrix tile. */
inline constexpr int kTileRows = 6;
/** Rows of the largest tile that an epilogue gets at once. */
inline constexpr int kMaxTileRows = 16;
/** Columns of the widest panel, and floats from one row of a tile's sums to the next. */
inline constexpr int kMaxPanelCols = 64;

/** Rows of the panel whose products are summed in one chain, unless a tile asks for shorter ones. */
inline constexpr int64_t kChain = 128;

/** Part of a tile's sum over k: `k` consecutive channels of each row against consecutive rows of the panel. */
struct GemmSegment {
  const float* rows[kTileRows];
  int64_t k;
  int64_t panelRow;
};

/** sums [kTileRows, vecs * width] = rows · panel, one tile. Sums run over segments and channels in order, in chains whose
 *  ends follow from the panel's rows; a segment whose rows are all zeros may be left out, which changes no bit. */
struct GemmTile {
  const GemmSegment* segments;
  int64_t numSegments;
  const std::byte* panel;  // [k, vecs * width] of panelType
  DType panelType;         // f32, f16 or bf16
  int vecs;                // columns in vectors of the instruction set
  float* sums;
  int64_t sumsPitch;
  int64_t chain = kChain;
};

/** Most columns of a product that dot_tile does. */
inline constexpr int kMaxDotCols = 4;

/** sums [kTileRows, cols] = rows · columns for few columns, whose weights follow each other: sums run over vectors of k, so that no
 *  lane is spent on columns that there are not. A segment whose rows are all zeros may be left out, which changes no bit. */
struct DotTile {
  const GemmSegment* segments;
  int64_t numSegments;
  const float* columns;  // [cols, k]
  int64_t k;             // of all segments, also of those that are left out
  int cols;
  float* sums;
  int64_t sumsPitch;
};

/** Where the rows of a tile lie in y, and which row of the frame bias they take. */
struct TileRows {
  int count = 0;
  int64_t pixel[kMaxTileRows];
  int64_t frame[kMaxTileRows];
};

/** What happens to a finished tile on its way to y; pointers may be null, pitches are in elements. */
struct Epilogue {
  const float* bias = nullptr;       // in packed column order, padded to whole panels
  const float* frameBias = nullptr;  // [frames, N]
  int64_t frameBiasPitch = 0;
  int64_t gateOffset = 0;  // gated: columns from a value to its gate in the frame bias
  const float* residual = nullptr;
  int64_t residualPitch = 0;
  const float* residual2 = nullptr;
  int64_t residual2Pitch = 0;
  float* y = nullptr;
  int64_t yPitch = 0;
  Activation act = Activation::none;
  float outScale = 1, residualScale = 1, residual2Scale = 1;
};

/** Columns of a tile: `outCols` columns of y from `outCol` on; with a gated activation the panel's second half holds the gates. */
struct TileCols {
  int64_t packedCol = 0;  // first column in packed order
  int64_t outCol = 0;
  int outCols = 0;
  int panelCols = 0;
};

/** The matrix kernel of an instruction set. */
struct Kernels {
  int width;    // floats per vector
  int maxVecs;  // vectors per panel
  void (*gemm_tile)(const GemmTile& tile);
  void (*dot_tile)(const DotTile& tile);
  /** Applies the epilogue to rows [first, end) of a tile's sums [rows, sumsPitch] and writes y. */
  void (*store_tile)(const Epilogue& epilogue, const float* sums, int64_t sumsPitch, const TileRows& rows, int first, int end,
                     const TileCols& cols);
  /** Does both, with all rows of the tile; what its sums are left with is of no use. */
  void (*gemm_store)(const GemmTile& tile, const Epilogue& epilogue, const TileRows& rows, const TileCols& cols);
};

VD_DECLARE_KERNEL_TABLE(Kernels, kernels)

}  // namespace vd::cpu
