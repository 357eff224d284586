// A convolution as one or more dense phases: sets of output pixels that share the same taps and weights; and the clip that they
// read: x behind its past frames.
#pragma once
#include <algorithm>
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
 *  Upsampling requires stride 1 over height and width. Transposed, too, results of one parity of row and column share the taps
 *  that meet no zero between spread pixels: 2x2 of 4x4. */
std::vector<ConvPhase> conv_phases(const ConvArgs& args);

/** Rows [taps, C] of a phase's weight matrix, filter positions of a tap summed in double. */
RowSource conv_rows(const ConvArgs& args, const ConvPhase& phase);

/** Everything about a phase that decides its packed weights. */
std::vector<int64_t> conv_facts(const ConvArgs& args, const ConvPhase& phase);

/** A frame of activations; without pixels where it is padding by zeros. */
struct ClipFrame {
  const float* pixels = nullptr;
  int64_t pitch = 0;
};

/** The frames that a convolution reads, counted from the first of x; those of `past` have numbers below 0. */
class ClipFrames {
 public:
  explicit ClipFrames(const ConvArgs& args);
  /** True unless the frame is padding by zeros. */
  bool has(int64_t frame) const { return repeats_ || (frame >= -pastFrames_ && frame < frames_); }
  ClipFrame at(int64_t clip, int64_t frame) const {
    if (repeats_) frame = std::clamp(frame, -pastFrames_, frames_ - 1);
    if (frame >= frames_ || frame < -pastFrames_) return {};
    if (frame >= 0) return {x_ + (clip * frames_ + frame) * framePixels_ * pitch_, pitch_};
    return {past_ + ((clip + 1) * pastFrames_ + frame) * framePixels_ * pastPitch_, pastPitch_};
  }

 private:
  const float* x_;
  const float* past_;
  int64_t frames_, pastFrames_, framePixels_, pitch_, pastPitch_;
  bool repeats_;
};

}  // namespace vd::cpu
