// The inner loops that exist once per instruction set, as a table that the ops call through.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../generated/op_args.h"
#include "cpu_features.h"

namespace vd::cpu {

/** Rows of the SIMD matrix tile. */
inline constexpr int kTileRows = 6;
/** Rows of the largest tile that an epilogue gets at once. */
inline constexpr int kMaxTileRows = 16;
/** Columns of the widest panel, and floats from one row of a tile's sums to the next. */
inline constexpr int kMaxPanelCols = 64;

/** Part of a tile's sum over k: `k` consecutive channels of each row against consecutive rows of the panel. */
struct GemmSegment {
  const float* rows[kTileRows];
  int64_t k;
  int64_t panelRow;
};

/** sums [kTileRows, vecs * width] = rows · panel, one tile. Sums run over segments and channels in order. */
struct GemmTile {
  const GemmSegment* segments;
  int64_t numSegments;
  const std::byte* panel;  // [k, vecs * width] of panelType
  DType panelType;         // f32, f16 or bf16
  int vecs;                // columns in vectors of the instruction set
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
  int64_t gateOffset = 0;  // geglu: columns from a value to its gate in the frame bias
  const float* residual = nullptr;
  int64_t residualPitch = 0;
  const float* residual2 = nullptr;
  int64_t residual2Pitch = 0;
  float* y = nullptr;
  int64_t yPitch = 0;
  Activation act = Activation::none;
  float outScale = 1, residualScale = 1, residual2Scale = 1;
};

/** Columns of a tile: `outCols` columns of y from `outCol` on; with geglu the panel's second half holds the gates. */
struct TileCols {
  int64_t packedCol = 0;  // first column in packed order
  int64_t outCol = 0;
  int outCols = 0;
  int panelCols = 0;
};

/** One key block of an online softmax: turns scores into unnormalised probabilities in place. */
struct SoftmaxRows {
  float* scores;  // [rows, pitch]; columns from `keys` up to a whole vector are set to 0
  int64_t pitch;
  int rows;
  int64_t keys[kMaxTileRows];  // keys that each row may see in this block; 0 for none
  int64_t paddedKeys;          // columns to fill, a multiple of the vector width
  const float* mask;           // [rows, maskPitch] added to the scaled scores, or null
  int64_t maskPitch;
  float scale;
  float* largest;    // per row: maximum so far, -inf before the first block
  float* total;      // per row: sum of probabilities so far
  float* correction; // per row, out: factor for what was summed before this block
};

/** Contiguous channels of a run of pixels of a normalised tensor. */
struct NormRows {
  const float* x;
  int64_t xPitch;
  float* y;
  int64_t yPitch;
  int64_t numPixels;
  int64_t channels;
};

struct Kernels {
  int width;    // floats per vector
  int maxVecs;  // vectors per panel
  void (*gemm_tile)(const GemmTile& tile);
  /** Applies the epilogue to rows [first, end) of a tile's sums [rows, sumsPitch] and writes y. */
  void (*store_tile)(const Epilogue& epilogue, const float* sums, int64_t sumsPitch, const TileRows& rows, int first,
                     int end, const TileCols& cols);
  /** out [16, pointPitch]: the transform of a tile's 4 x 4 pixels, given by their channels; whole vectors are written. */
  void (*winograd_input)(const float* const* pixels, int64_t channels, float* out, int64_t pointPitch);
  /** out [4, outPitch]: the 2 x 2 outputs of a tile from its sixteen products [16, pointPitch]; whole vectors. */
  void (*winograd_output)(const float* points, int64_t pointPitch, int64_t cols, float* out, int64_t outPitch);
  void (*softmax_rows)(const SoftmaxRows& rows);
  /** out[c, r] = in[r, c] for r < rows and c < cols; columns of out from `rows` up to a whole vector become 0. */
  void (*transpose)(const float* in, int64_t inPitch, int64_t rows, int64_t cols, float* out, int64_t outPitch);
  /** y = (before * factor + add) * outFactor for `n` floats; before may be y, or null for none. */
  void (*accumulate)(float* y, const float* before, float factor, const float* add, float outFactor, int64_t n);
  /** sums[c] = Σ x and squares[c] = Σ x² over the pixels, in double. */
  void (*channel_sums)(const NormRows& rows, double* sums, double* squares);
  /** y = act((x - center[c]) * scale[c] + offset[c]). */
  void (*scale_channels)(const NormRows& rows, const float* center, const float* scale, const float* offset,
                         Activation act);
  void (*layer_norm_rows)(const NormRows& rows, const float* weight, const float* bias, float eps);
  /** y = act(aScale · a + bScale · b · c + frameBias) for `n` elements; b, c, frameBias may be null. */
  void (*pointwise)(float* y, const float* a, const float* b, const float* c, const float* frameBias, int64_t n,
                    float aScale, float bScale, Activation act);
  /** Blocks of 16 uniforms in [0, 1) become normals in place, with the same bits in every table. */
  void (*box_muller)(float* values, int64_t numBlocks);
};

extern const Kernels kKernelsPlain;
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;

/** The table for an instruction set that the machine has. */
inline const Kernels& kernels_of(Isa isa) {
  return isa >= Isa::avx512 ? kKernelsAvx512 : isa == Isa::avx2 ? kKernelsAvx2 : kKernelsPlain;
}

}  // namespace vd::cpu
