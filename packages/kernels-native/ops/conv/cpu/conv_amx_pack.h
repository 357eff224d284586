// Fills the split region of one box of a convolution, piece by piece.
#pragma once
#include <cstdint>
#include <vector>

#include "../../../native/cpu/amx_pipeline.h"

#include "conv_amx_blocking.h"

namespace vd::cpu {

/** First output pixel of a box in phase coordinates. */
struct ConvBox {
  int64_t clip, frame, row, col;
};

/** Splits the padded input of a box (rows and flat), image row by image row. */
class RegionPacker final : public amx::Packer {
 public:
  RegionPacker(const ConvAmxBlocking& blocking, const Tensor& x, const ClipFrames& clip, const ConvBox& box, std::byte* region)
      : blocking_(blocking), x_(x), clip_(clip), box_(box), region_(region), piecePixels_(piece_pixels(blocking)) {}
  void piece() override;
  /** Pieces until row `row` of input frame `frame` of the region is there. */
  static int64_t pieces_through(const ConvAmxBlocking& blocking, int64_t frame, int64_t row);

 private:
  static int64_t piece_pixels(const ConvAmxBlocking& blocking);
  void split_planes(const ClipFrame& row, int64_t first, int64_t count, std::byte* out) const;
  void split_pixels(const ClipFrame& row, int64_t col, int64_t count, std::byte* out) const;

  const ConvAmxBlocking& blocking_;
  const Tensor& x_;
  const ClipFrames& clip_;
  ConvBox box_;
  std::byte* region_;
  int64_t piecePixels_;
  int64_t frame_ = 0, row_ = 0, col_ = 0;
};

/** Gathers all taps of output pixels side by side and splits them, a few pixels per piece. */
class UnfoldPacker final : public amx::Packer {
 public:
  /** Output pixels from `first` to `end`, numbered over clips, frames, rows and columns of the phase. `work` has
   *  work_floats(). */
  UnfoldPacker(const ConvAmxBlocking& blocking, const ConvPhase& phase, const Tensor& x, const ClipFrames& clip, int64_t first, int64_t end,
               float* work, std::byte* region);
  void piece() override;
  static int64_t work_floats(const ConvAmxBlocking& blocking);
  /** Pieces until `pixels` pixels are there. */
  static int64_t pieces_through(const ConvAmxBlocking& blocking, int64_t pixels);

 private:
  /** Taps that are neighbours in one image row. */
  struct Run {
    int64_t f, h, w, taps;
  };
  static int64_t piece_pixels(const ConvAmxBlocking& blocking);
  void gather(float* out) const;
  void gather_run(const Run& run, const ClipFrame& row, int64_t col, float* out) const;
  bool all_inside() const;
  void advance();

  const ConvAmxBlocking& blocking_;
  const Tensor& x_;
  const ClipFrames& clip_;
  int64_t phaseRows_, phaseCols_;
  int64_t left_;                      // pixels to do
  int64_t image_, row_, col_;         // the next one, in phase coordinates; images over clips
  int64_t inClip_, inFrame_, inRow_, inCol_;  // and where its input starts
  float* work_;
  std::byte* region_;
  int64_t values_ = 0;
  std::vector<Run> runs_;
  // Of each run, in floats: its length, and its place relative to where a pixel's input starts.
  std::vector<int64_t> lengths_, offsets_;
};

}  // namespace vd::cpu
