#include "amx_panels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../core/half.h"

namespace vd::cpu::amx {
namespace {

/** The upper 16 bits of a float, rounded to nearest, as the activations' split does it; `rest` is what is left. */
uint16_t take_part(float value, float& rest) {
  const uint32_t rounded = (std::bit_cast<uint32_t>(value) + 0x8000u) & 0xffff0000u;
  rest = value - std::bit_cast<float>(rounded);
  return static_cast<uint16_t>(rounded >> 16);
}

int parts_of(float value) {
  float rest = value;
  int parts = 0;
  do {
    take_part(rest, rest);
    ++parts;
  } while (rest != 0 && parts < kParts);
  return parts;
}

/** Byte of the pair element (k, col) within one part's tiles of a step. */
int64_t offset_in_step(int64_t k, int col) {
  const int64_t within = k % kStep;
  return (col / kSide) * kTileBytes + (within % kSide) * kStepBytes + (col % kSide) * 4 + (within / kSide) * 2;
}

/** Writes the packed form of one panel, whose bytes are zero. */
class PanelWriter {
 public:
  PanelWriter(std::byte* base, int vecs, const WeightForm& form)
      : base_(base), partBytes_(vecs * kTileBytes), form_(form), stored_(form.compact ? 1 : form.parts) {}

  void write_column(int col, const float* row) {
    int64_t firstStep = 0;
    for (const int64_t segment : form_.segments) {
      for (int64_t k = 0; k < segment; ++k, ++row) {
        write(base_ + (firstStep + k / kStep) * stored_ * partBytes_ + offset_in_step(k, col), *row);
      }
      firstStep += padded_k(segment) / kStep;
    }
  }

 private:
  void write(std::byte* at, float value) const {
    if (form_.compact) {
      const uint16_t half = float_to_half(value);
      std::memcpy(at, &half, sizeof half);
      return;
    }
    for (int part = 0; part < form_.parts; ++part) {
      const uint16_t bits = take_part(value, value);
      std::memcpy(at + part * partBytes_, &bits, sizeof bits);
    }
  }

  std::byte* base_;
  int64_t partBytes_;
  const WeightForm& form_;
  int64_t stored_;
};

}  // namespace

int parts_of(DType type, int64_t numRows, int64_t k, const RowSource& rows, int most) {
  if (type == DType::bf16) return 1;
  if (type == DType::f16) return std::min(2, most);
  std::vector<float> row(static_cast<size_t>(k));
  int parts = 1;
  for (int64_t n = 0; n < numRows && parts < most; ++n) {
    rows(n, row.data());
    for (const float value : row) parts = std::max(parts, parts_of(value));
  }
  return std::min(parts, most);
}

PackedWeights pack_weights(PackCache& cache, PackIdentity identity, const PanelLayout& layout, const WeightForm& form,
                           const RowSource& rows) {
  PackedWeights packed;
  packed.layout = layout;
  packed.parts = form.parts;
  packed.compact = form.compact;
  int64_t length = 0;
  for (const int64_t segment : form.segments) {
    packed.steps += padded_k(segment) / kStep;
    length += segment;
    identity.facts.push_back(segment);
  }
  identity.facts.insert(identity.facts.end(), {form.parts, form.compact});
  const auto bytes = static_cast<size_t>(packed.bytes());
  const auto pack = [&](std::byte* out) {
    std::memset(out, 0, bytes);
    write_panels(cache, layout, [&](const Panel& panel) {
      std::vector<float> row(static_cast<size_t>(length));
      PanelWriter writer(out + panel.firstVec * packed.steps * packed.stored_parts() * kTileBytes, panel.vecs, form);
      for (int col = 0; col < panel.cols.panelCols; ++col) {
        const int64_t source = layout.source_row(panel, col);
        if (source < 0) continue;
        rows(source, row.data());
        writer.write_column(col, row.data());
      }
    });
  };
  packed.block = cache.find_or_make(identity.key(), bytes, pack);
  return packed;
}

}  // namespace vd::cpu::amx
