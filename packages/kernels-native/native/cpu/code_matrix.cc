#include "code_matrix.h"

#include <bit>
#include <cstring>

namespace vd::cpu {

const CodeTiles& code_tiles_for(DType type, Isa isa) {
  const bool integers = type == DType::i8;
#if defined(__aarch64__)
  if (integers && has_sdot()) return kArmDotTiles;
#else
  if (integers && isa >= Isa::avx512 && has_vnni()) return kVnniTiles;
  if (integers && isa == Isa::avx2 && has_short_vnni()) return kShortVnniTiles;
#endif
  return integers ? code_tiles_of(isa).integers : code_tiles_of(isa).floats;
}

CodeMatrix::CodeMatrix(const CodeMatrixSpec& spec, PackCache& cache, Isa isa, const CodeTiles& tiles)
    : tiles_(tiles),
      kernels_(code_kernels_of(isa)),
      layout_(spec.outCols, spec.gated, tiles_.width, tiles_.maxVecs),
      type_(spec.weight.dtype),
      channels_(spec.channels),
      rowGroups_(groups_of(spec.channels)),
      sumScales_(spec.block > 0) {
  cut(spec);
  const auto bytes = static_cast<size_t>(layout_.packed_cols() * panelGroups_ * tiles_.colBytes);
  const PackIdentity identity{spec.weight.data,
                              spec.packKind,
                              {spec.outCols, spec.gated, spec.taps, spec.channels, spec.block, static_cast<int64_t>(type_), tiles_.colBytes,
                               tiles_.group, tiles_.hasOffset, tiles_.width, tiles_.maxVecs}};
  block_ = cache.find_or_make(identity.key(), bytes, [&](std::byte* out) {
    write_panels(cache, layout_, [&](const Panel& panel) { pack_panel(spec, panel, out); });
  });
  pack_scales(spec);
  zeros_.resize(static_cast<size_t>(row_bytes()));
  const std::vector<uint8_t> none(static_cast<size_t>(channels_), 0);
  stage(none.data(), zeros_.data());
}

void CodeMatrix::cut(const CodeMatrixSpec& spec) {
  int64_t sum = 0, length = 0;
  for (int64_t tap = 0; tap < spec.taps; ++tap) {
    const int64_t most = spec.block > 0 ? spec.block : tiles_.longest;
    for (int64_t first = 0; first < spec.channels; first += most) {
      const int64_t channels = std::min(most, spec.channels - first);
      if (length > 0 && (spec.block > 0 || length + channels > tiles_.longest)) {
        ++sum;
        length = 0;
      }
      length += channels;
      chunks_.push_back({tap, first, channels, panelGroups_, sum});
      panelGroups_ += groups_of(channels) + (tiles_.hasOffset ? 1 : 0);
    }
  }
}

void CodeMatrix::pack_panel(const CodeMatrixSpec& spec, const Panel& panel, std::byte* out) const {
  std::vector<uint8_t> row(static_cast<size_t>(spec.taps * spec.channels));
  const int64_t step = int64_t{panel.cols.panelCols} * tiles_.colBytes;
  std::byte* base = out + panel.firstVec * layout_.width() * panelGroups_ * tiles_.colBytes;
  for (int col = 0; col < panel.cols.panelCols; ++col) {
    const int64_t source = layout_.source_row(panel, col);
    if (source >= 0) spec.rows(source, row.data());
    else std::fill(row.begin(), row.end(), uint8_t{0});
    pack_column(row.data(), base + int64_t{col} * tiles_.colBytes, step);
  }
}

/** Column of a panel whose groups are `step` bytes apart. */
void CodeMatrix::pack_column(const uint8_t* row, std::byte* column, int64_t step) const {
  const bool isBf16 = type_ == DType::f8e4m3;
  for (const CodeChunk& chunk : chunks_) {
    const uint8_t* codes = row + chunk.tap * channels_ + chunk.firstChannel;
    std::byte* at = column + chunk.panelGroup * step;
    if (tiles_.hasOffset) {
      int32_t sum = 0;
      for (int64_t c = 0; c < chunk.channels; ++c) sum += static_cast<int8_t>(codes[c]);
      sum *= -128;
      std::memcpy(at, &sum, sizeof sum);
      at += step;
    }
    for (int64_t c = 0; c < groups_of(chunk.channels) * tiles_.group; ++c) {
      const uint8_t code = c < chunk.channels ? codes[c] : uint8_t{0};
      std::byte* place = at + c / tiles_.group * step;
      if (isBf16) {
        const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(float8_to_float(code)) >> 16);
        std::memcpy(place + c % tiles_.group * 2, &half, sizeof half);
      } else {
        place[c % tiles_.group] = static_cast<std::byte>(code);
      }
    }
  }
}

void CodeMatrix::pack_scales(const CodeMatrixSpec& spec) {
  const int64_t sums = sumScales_ ? chunks_.back().sum + 1 : 1, cols = layout_.packed_cols();
  scales_.assign(static_cast<size_t>(sums * cols), 0.0f);
  const Tensor& scale = spec.weightScale;
  for (const Panel& panel : layout_.panels()) {
    for (int col = 0; col < panel.cols.panelCols; ++col) {
      const int64_t source = layout_.source_row(panel, col);
      if (source < 0) continue;
      const float* of = scale.as<float>() + (scale.dim(0) == 1 ? 0 : source) * scale.pitch;
      for (int64_t sum = 0; sum < sums; ++sum)
        scales_[static_cast<size_t>(sum * cols + panel.cols.packedCol + col)] = of[scale.channels() == 1 ? 0 : sum];
    }
  }
}

void CodeMatrix::stage(const uint8_t* codes, std::byte* row) const {
  kernels_.widen(codes, channels_, tiles_.form, row);
  const int64_t filled = channels_ * 4 / tiles_.group;
  const std::byte none{tiles_.form == RowForm::biased ? uint8_t{0x80} : uint8_t{0}};
  std::fill(row + filled, row + row_bytes(), none);
}

CodeTileWriter::CodeTileWriter(const Epilogue& epilogue, const Tensor& y, const Tensor& yScale, Isa isa)
    : kernels_(kernels_of(isa)), codeKernels_(code_kernels_of(isa)), epilogue_(epilogue), y_(y) {
  if (yScale.present()) inverse_ = 1.0f / *yScale.as<float>();
}

void CodeTileWriter::write(const float* sums, const TileRows& rows, const TileCols& cols, float* line) const {
  if (y_.dtype == DType::f32) return kernels_.store_tile(epilogue_, sums, kMaxPanelCols, rows, 0, rows.count, cols);
  Epilogue epilogue = epilogue_;
  epilogue.y = line;
  epilogue.yPitch = 0;
  for (int r = 0; r < rows.count; ++r) {
    kernels_.store_tile(epilogue, sums, kMaxPanelCols, rows, r, r + 1, cols);
    codeKernels_.encode(line + cols.outCol, cols.outCols, inverse_, y_.dtype, y_.as<uint8_t>() + rows.pixel[r] * y_.pitch + cols.outCol);
  }
}

}  // namespace vd::cpu
