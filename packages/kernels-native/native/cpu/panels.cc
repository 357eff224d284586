#include "panels.h"

#include <algorithm>
#include <cstring>

#include "../core/float_element.h"

namespace vd::cpu {
namespace {

constexpr int64_t kKeepAsF32Bytes = int64_t{4} << 20;

/** Columns that are written together: a line of the cache. One by one, each number of a column would touch a line of its own. */
constexpr int kColumnsAtOnce = 16;

typedef float Four __attribute__((vector_size(16)));
typedef int32_t Lanes __attribute__((vector_size(16)));

inline Four four_at(const float* values) {
  Four v;
  std::memcpy(&v, values, sizeof v);
  return v;
}

/** Four rows of four numbers, `step` apart, become columns of `out`, whose rows are `pitch` apart. */
inline void transpose_four(const float* rows, int64_t step, float* out, int64_t pitch) {
  constexpr Lanes kLow{0, 4, 1, 5}, kHigh{2, 6, 3, 7}, kFirst{0, 1, 4, 5}, kSecond{2, 3, 6, 7};
  const Four a = four_at(rows), b = four_at(rows + step), c = four_at(rows + 2 * step), d = four_at(rows + 3 * step);
  const Four low = __builtin_shuffle(a, b, kLow), lowNext = __builtin_shuffle(c, d, kLow);
  const Four high = __builtin_shuffle(a, b, kHigh), highNext = __builtin_shuffle(c, d, kHigh);
  const Four columns[4] = {__builtin_shuffle(low, lowNext, kFirst), __builtin_shuffle(low, lowNext, kSecond),
                           __builtin_shuffle(high, highNext, kFirst), __builtin_shuffle(high, highNext, kSecond)};
  for (int i = 0; i < 4; ++i) std::memcpy(out + i * pitch, &columns[i], sizeof(Four));
}

/** Writes columns [first, first + count) of a panel of `cols`, whose rows are k. columns: [count, k]. */
void write_columns(std::byte* panel, DType type, int64_t cols, int64_t first, int64_t count, const float* columns, int64_t k) {
  int64_t i = 0;
  if (type == DType::f32 && count == kColumnsAtOnce) {
    auto* out = reinterpret_cast<float*>(panel) + first;
    for (; i + 4 <= k; i += 4)
      for (int c = 0; c < kColumnsAtOnce; c += 4) transpose_four(columns + c * k + i, k, out + i * cols + c, cols);
  }
  for (; i < k; ++i)
    for (int64_t c = 0; c < count; ++c) store_element(panel, type, i * cols + first + c, columns[c * k + i]);
}

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
    write_panels(cache, layout, [&](const Panel& panel) {
      std::vector<float> columns(static_cast<size_t>(kColumnsAtOnce * k));
      std::byte* base = out + panel.firstVec * layout.width() * k * itemBytes;
      const int cols = panel.cols.panelCols;
      for (int first = 0; first < cols; first += kColumnsAtOnce) {
        const int count = std::min(kColumnsAtOnce, cols - first);
        for (int c = 0; c < count; ++c) {
          const int64_t source = layout.source_row(panel, first + c);
          if (source >= 0) rows(source, columns.data() + c * k);
          else std::fill_n(columns.data() + c * k, k, 0.0f);
        }
        write_columns(base, type, cols, first, count, columns.data(), k);
      }
    });
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
