// A convolution as one or more dense phases: sets of output pixels that share the same taps and weights.
#pragma once
#include <cstdint>
#include <vector>

#include "../../../native/cpu/panels.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** One kernel position, relative to where an output pixel's input starts, with the filter positions summed into it. */
struct ConvTap {
  int64_t f, h, w;
  struct Source {
    int64_t f, h, w;
  };
  std::vector<Source> sources;
};

/** Output rows firstRow + i·rowStep and columns firstCol + j·colStep, for i < rows and j < cols, in every frame. Output
 *  (g, i, j) reads input (g·frameStep + tap.f, i·inRowStep + tap.h, j·inColStep + tap.w), zeros outside. */
struct ConvPhase {
  int64_t rows, cols;
  int64_t firstRow, firstCol;
  int64_t rowStep, colStep;
  int64_t frameStep, inRowStep, inColStep;
  std::vector<ConvTap> taps;
};

/** One phase; or, for nearest-2x upsampling, one per parity of row and column: the copies of a source pixel that a filter
 *  covers have the same value, so their weights add up and the upsampled tensor never exists (4/9 of the work at 3x3).
 *  Upsampling requires stride 1 over height and width. */
std::vector<ConvPhase> conv_phases(const ConvArgs& args);

/** Rows [taps, C] of a phase's weight matrix, filter positions of a tap summed in double. */
RowSource conv_rows(const Tensor& weight, const ConvPhase& phase);

/** Everything about a phase that decides its packed weights. */
std::vector<int64_t> conv_facts(const ConvArgs& args, const ConvPhase& phase);

}  // namespace vd::cpu
