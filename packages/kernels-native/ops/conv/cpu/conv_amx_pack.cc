#include "conv_amx_pack.h"

#include <algorithm>
#include <cstring>

#include "conv_gather_avx512.h"

namespace vd::cpu {
namespace {

/** Values that one piece splits. */
constexpr int64_t kPieceValues = 128;

}  // namespace

int64_t RegionPacker::piece_pixels(const ConvAmxBlocking& blocking) {
  // The copies of an image row are made from the whole row.
  if (blocking.planes() > 1) return blocking.inCols;
  return std::clamp<int64_t>(kPieceValues / blocking.pixelValues, 1, blocking.inCols);
}

int64_t RegionPacker::pieces_through(const ConvAmxBlocking& blocking, int64_t frame, int64_t row) {
  const int64_t perRow = (blocking.inCols + piece_pixels(blocking) - 1) / piece_pixels(blocking);
  return (frame * blocking.inRows + row + 1) * perRow;
}

void RegionPacker::piece() {
  const int64_t frame = box_.frame * blocking_.frameStep + blocking_.f.low + frame_;
  const int64_t row = box_.row * blocking_.rowStep + blocking_.h.low + row_;
  const int64_t count = std::min(piecePixels_, blocking_.inCols - col_);
  std::byte* out = region_ + ((frame_ * blocking_.inRows + row_) * blocking_.inCols + col_) * blocking_.pixel_bytes();
  const ClipFrame source = clip_.at(box_.clip, frame);
  if (source.pixels != nullptr && row >= 0 && row < x_.dim(2)) {
    split_planes({source.pixels + row * x_.dim(3) * source.pitch, source.pitch}, col_, count, out);
  } else {
    for (int64_t plane = 0; plane < blocking_.planes(); ++plane) {
      std::memset(out + plane * blocking_.plane_pixels() * blocking_.pixel_bytes(), 0,
                  static_cast<size_t>(count * blocking_.pixel_bytes()));
    }
  }
  col_ += count;
  if (col_ < blocking_.inCols) return;
  col_ = 0;
  if (++row_ < blocking_.inRows) return;
  row_ = 0;
  ++frame_;
}

/** The first plane is split, the others are the first moved by one pixel each. */
void RegionPacker::split_planes(const ClipFrame& row, int64_t first, int64_t count, std::byte* out) const {
  const int64_t pixelBytes = blocking_.pixel_bytes();
  const int64_t col = box_.col * blocking_.colStep + blocking_.w.low + first;
  split_pixels(row, col, count, out);
  for (int64_t plane = 1; plane < blocking_.planes(); ++plane) {
    std::byte* moved = out + plane * blocking_.plane_pixels() * pixelBytes;
    const int64_t shared = std::max<int64_t>(count - plane, 0);
    std::memcpy(moved, out + plane * pixelBytes, static_cast<size_t>(shared * pixelBytes));
    split_pixels(row, col + plane + shared, count - shared, moved + shared * pixelBytes);
  }
}

/** Splits `count` input pixels from column `col` of one image row, zeros outside of it. */
void RegionPacker::split_pixels(const ClipFrame& row, int64_t col, int64_t count, std::byte* out) const {
  const int64_t pixelBytes = blocking_.pixel_bytes();
  const int64_t left = std::clamp<int64_t>(-col, 0, count);
  const int64_t inside = std::clamp<int64_t>(x_.dim(3) - (col + left), 0, count - left);
  if (left > 0) std::memset(out, 0, static_cast<size_t>(left * pixelBytes));
  amx::split({row.pixels + (col + left) * row.pitch, row.pitch, inside, blocking_.channels, out + left * pixelBytes, pixelBytes,
              blocking_.part_bytes(), blocking_.parts});
  const int64_t right = count - left - inside;
  if (right > 0) std::memset(out + (left + inside) * pixelBytes, 0, static_cast<size_t>(right * pixelBytes));
}

UnfoldPacker::UnfoldPacker(const ConvAmxBlocking& blocking, const ConvPhase& phase, const Tensor& x, const ClipFrames& clip, int64_t first,
                           int64_t end, float* work, std::byte* region)
    : blocking_(blocking),
      x_(x),
      clip_(clip),
      phaseRows_(phase.rows),
      phaseCols_(phase.cols),
      left_(end - first),
      image_(first / (phase.cols * phase.rows)),
      row_(first / phase.cols % phase.rows),
      col_(first % phase.cols - 1),
      work_(work),
      region_(region) {
  for (const ConvTap& tap : phase.taps) {
    values_ += blocking.channels;
    if (!runs_.empty()) {
      Run& last = runs_.back();
      if (last.f == tap.f && last.h == tap.h && last.w + last.taps == tap.w) {
        ++last.taps;
        continue;
      }
    }
    runs_.push_back({tap.f, tap.h, tap.w, 1});
  }
  for (const Run& run : runs_) {
    lengths_.push_back(run.taps * blocking.channels);
    offsets_.push_back(((run.f * x.dim(2) + run.h) * x.dim(3) + run.w) * x.pitch);
  }
  advance();
}

/** Goes to the next pixel. */
void UnfoldPacker::advance() {
  if (++col_ == phaseCols_) {
    col_ = 0;
    if (++row_ == phaseRows_) {
      row_ = 0;
      ++image_;
    }
  }
  inClip_ = image_ / blocking_.frames;
  inFrame_ = image_ % blocking_.frames * blocking_.frameStep;
  inRow_ = row_ * blocking_.rowStep;
  inCol_ = col_ * blocking_.colStep;
}

int64_t UnfoldPacker::piece_pixels(const ConvAmxBlocking& blocking) {
  return std::clamp<int64_t>(kPieceValues / blocking.pixelValues, 1, amx::kSide);
}

int64_t UnfoldPacker::work_floats(const ConvAmxBlocking& blocking) { return piece_pixels(blocking) * blocking.pixelValues; }

int64_t UnfoldPacker::pieces_through(const ConvAmxBlocking& blocking, int64_t pixels) {
  return (pixels + piece_pixels(blocking) - 1) / piece_pixels(blocking);
}

void UnfoldPacker::piece() {
  const int64_t count = std::min(piece_pixels(blocking_), left_);
  for (int64_t i = 0; i < count; ++i, advance()) gather(work_ + i * values_);
  amx::split({work_, values_, count, values_, region_, blocking_.pixel_bytes(), blocking_.part_bytes(), blocking_.parts});
  left_ -= count;
  region_ += count * blocking_.pixel_bytes();
}

bool UnfoldPacker::all_inside() const {
  return inFrame_ + blocking_.f.low >= 0 && inFrame_ + blocking_.f.high < x_.dim(1) && inRow_ + blocking_.h.low >= 0 &&
         inRow_ + blocking_.h.high < x_.dim(2) && inCol_ + blocking_.w.low >= 0 && inCol_ + blocking_.w.high < x_.dim(3);
}

void UnfoldPacker::gather(float* out) const {
  const int64_t image = (inClip_ * x_.dim(1) + inFrame_) * x_.dim(2);
  if (x_.pitch == blocking_.channels && all_inside()) {
    const float* start = x_.as<float>() + ((image + inRow_) * x_.dim(3) + inCol_) * x_.pitch;
    return amx::gather(start, offsets_.data(), lengths_.data(), static_cast<int64_t>(runs_.size()), out);
  }
  for (const Run& run : runs_) {
    const int64_t h = inRow_ + run.h;
    const int64_t floats = run.taps * blocking_.channels;
    const ClipFrame source = clip_.at(inClip_, inFrame_ + run.f);
    if (source.pixels != nullptr && h >= 0 && h < x_.dim(2)) {
      gather_run(run, {source.pixels + h * x_.dim(3) * source.pitch, source.pitch}, inCol_ + run.w, out);
    } else {
      std::memset(out, 0, static_cast<size_t>(floats) * sizeof(float));
    }
    out += floats;
  }
}

void UnfoldPacker::gather_run(const Run& run, const ClipFrame& row, int64_t col, float* out) const {
  const int64_t channels = blocking_.channels, width = x_.dim(3);
  if (row.pitch == channels && col >= 0 && col + run.taps <= width) {
    return amx::copy(out, row.pixels + col * channels, run.taps * channels);
  }
  for (int64_t tap = 0; tap < run.taps; ++tap, ++col, out += channels) {
    if (col >= 0 && col < width) {
      amx::copy(out, row.pixels + col * row.pitch, channels);
    } else {
      std::memset(out, 0, static_cast<size_t>(channels) * sizeof(float));
    }
  }
}

}  // namespace vd::cpu
