#include "panels.h"

#include <algorithm>

#include "../core/float_element.h"

namespace vd::cpu {
namespace {

constexpr int64_t kKeepAsF32Bytes = int64_t{4} << 20;

}  // namespace

PanelLayout::PanelLayout(int64_t outCols, bool gated, int width, int maxVecs) : outCols_(outCols), gated_(gated), width_(width) {
  const int parts = gated ? 2 : 1;
  const int64_t step = static_cast<int64_t>(maxVecs / parts) * width;
  for (int64_t col = 0; col < outCols; col += step) {
    const auto count = static_cast<int>(std::min(step, outCols - col));
    const int vecs = parts * ((count + width - 1) / width);
    panels_.push_back({{packedVecs_ * width, col, count, vecs * width}, vecs, packedVecs_});
    packedVecs_ += vecs;
  }
}

int64_t PanelLayout::source_row(const Panel& panel, int col) const {
  const int half = panel.cols.panelCols / 2;
  const bool gate = gated_ && col >= half;
  const int within = gate ? col - half : col;
  if (within >= panel.cols.outCols) return -1;
  return panel.cols.outCol + within + (gate ? outCols_ : 0);
}

PackCache::Key PackIdentity::key() const {
  // FNV-1a twice with different starts: 128 bits tell apart whatever differs.
  uint64_t one = 0xcbf29ce484222325u, two = 0x84222325cbf29ce4u;
  for (const int64_t fact : facts) {
    for (int byte = 0; byte < 8; ++byte) {
      const uint64_t value = (static_cast<uint64_t>(fact) >> (8 * byte)) & 0xffu;
      one = (one ^ value) * 0x100000001b3u;
      two = (two ^ (value + 0x55u)) * 0x100000001b3u;
    }
  }
  return {source, kind, static_cast<int64_t>(one), static_cast<int64_t>(two)};
}

DType panel_type(DType type, int64_t count) { return count * 4 <= kKeepAsF32Bytes ? DType::f32 : type; }

PackedPanels pack_panels(PackCache& cache, const PackIdentity& identity, const PanelLayout& layout, int64_t k, DType type,
                         const RowSource& rows) {
  const int itemBytes = bytes_of(type);
  const auto pack = [&](std::byte* out) {
    std::vector<float> row(static_cast<size_t>(k));
    for (const Panel& panel : layout.panels()) {
      const int cols = panel.cols.panelCols;
      std::byte* base = out + panel.firstVec * layout.width() * k * itemBytes;
      for (int col = 0; col < cols; ++col) {
        const int64_t source = layout.source_row(panel, col);
        if (source >= 0) rows(source, row.data());
        for (int64_t i = 0; i < k; ++i) {
          store_element(base, type, i * cols + col, source >= 0 ? row[static_cast<size_t>(i)] : 0.0f);
        }
      }
    }
  };
  const auto bytes = static_cast<size_t>(layout.packed_cols() * k * itemBytes);
  return {layout, k, type, cache.find_or_make(identity.key(), bytes, pack)};
}

std::vector<float> pack_bias(const Tensor& bias, const PanelLayout& layout) {
  std::vector<float> packed(static_cast<size_t>(layout.packed_cols()), 0.0f);
  for (const Panel& panel : layout.panels()) {
    for (int col = 0; col < panel.cols.panelCols; ++col) {
      const int64_t source = layout.source_row(panel, col);
      if (source < 0) continue;
      packed[static_cast<size_t>(panel.cols.packedCol + col)] = load_element(bias.data, bias.dtype, source);
    }
  }
  return packed;
}

}  // namespace vd::cpu
