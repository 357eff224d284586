// How a convolution is cut into boxes of output pixels, and how the input of a box lies in split form.
#pragma once
#include <cstdint>
#include <vector>

#include "../../../native/cpu/amx_kernels.h"

#include "conv_geometry.h"

namespace vd::cpu {

/** Arrangement of a box's split input.
 *  - rows: the padded input region once; sixteen tile rows are neighbours in one row of the image.
 *  - flat: one copy of the region per horizontal tap, shifted by it and without side padding, so that tile rows run on
 *    from one image row to the next: narrow images fill their tiles, and (3,1,1) kernels need a single copy.
 *  - unfold: every output pixel has all its taps side by side: few channels, or strides beyond the other two. */
enum class ConvArrangement { rows, flat, unfold };

/** Smallest and largest input offset of all taps along one axis. */
struct TapRange {
  int64_t low = 0, high = 0;
  int64_t span() const { return high - low + 1; }
};

/** The blocking that all tasks of a convolution share. Boxes are in units of phase pixels. */
struct ConvAmxBlocking {
  ConvArrangement arrangement = ConvArrangement::rows;
  int64_t frames = 0, rows = 0, cols = 0;           // output of the largest phase
  int64_t boxFrames = 0, boxRows = 0, boxCols = 0;  // unfold: boxCols pixels, all flattened
  int64_t inFrames = 0, inRows = 0, inCols = 0;     // split region of a box
  int64_t frameStep = 1, rowStep = 1, colStep = 1;  // input pixels per output pixel
  TapRange f, h, w;
  int64_t channels = 0;    // of x
  int parts = amx::kParts;  // of its values
  int64_t pixelValues = 0;  // k per split pixel, whole steps
  double cyclesPerPixel = 0;

  int64_t part_bytes() const { return 2 * pixelValues; }
  int64_t pixel_bytes() const { return amx::split_pitch(pixelValues, parts); }
  int64_t plane_pixels() const { return inFrames * inRows * inCols; }
  int64_t planes() const { return arrangement == ConvArrangement::flat ? w.span() : 1; }
  /** Split bytes of a box, with room for tiles that reach beyond its last pixel. */
  int64_t region_bytes() const { return (planes() * plane_pixels() + amx::kSide * colStep) * pixel_bytes(); }
  /** Bytes from a tile row's first pixel to what a tap reads (rows and flat). */
  int64_t tap_offset(const ConvTap& tap) const;
};

/** Finds the cheapest blocking by a model of cycles per output pixel. `parts` and `weightParts` as in amx::Block. */
ConvAmxBlocking choose_conv_amx_blocking(const ConvArgs& args, const std::vector<ConvPhase>& phases, int parts, int weightParts);

}  // namespace vd::cpu
