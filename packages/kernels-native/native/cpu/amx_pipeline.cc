#include "amx_pipeline.h"

#include <algorithm>

namespace vd::cpu::amx {
namespace {

/** Rows of a block that one piece stores. */
constexpr int kPieceRows = 4;
constexpr int kPiecesPerUnit = kSide / kPieceRows;

/** Units that the tiles take at once, from `first` on: two when they take the same steps. */
size_t together(const std::vector<Unit>& units, size_t first) {
  return first + 1 < units.size() && units[first].table == units[first + 1].table ? 2 : 1;
}

/** What the units after `first`'s need, at least what has been needed so far. */
int64_t next_need(const std::vector<Unit>& units, size_t next) {
  if (next >= units.size()) return 0;
  return next + 1 < units.size() ? std::max(units[next].need, units[next + 1].need) : units[next].need;
}

}  // namespace

void Pipeline::run(const Pass& pass, const std::vector<Unit>& units) {
  pass_ = &pass;
  const auto& panels = pass.weights->layout.panels();
  const size_t outer = pass.unitsOutside ? 1 : pass.endPanel - pass.firstPanel;
  for (size_t o = 0; o < outer; ++o) {
    const size_t firstPanel = pass.unitsOutside ? pass.firstPanel : pass.firstPanel + o;
    const size_t endPanel = pass.unitsOutside ? pass.endPanel : firstPanel + 1;
    if (pass.weights->compact) {
      const Panel& panel = panels[firstPanel];
      expand_f16(pass.weights->panel(panel), pass.weights->steps, panel.vecs, pass.expanded);
    }
    for (size_t u = 0; u < units.size();) {
      const size_t n = together(units, u);
      ensure(n == 2 ? std::max(units[u].need, units[u + 1].need) : units[u].need);
      for (size_t i = firstPanel; i < endPanel; ++i) {
        const auto left = static_cast<int64_t>(endPanel - i);
        const int64_t missing = std::max<int64_t>(0, next_need(units, u + n) - packed_);
        multiply(pass, panels[i], units, u, (missing + left - 1) / left);
      }
      u += n;
    }
  }
  while (storesLeft_ > 0) store_piece(pass), --storesLeft_;
}

void Pipeline::ensure(int64_t pieces) {
  for (; packed_ < pieces; ++packed_) packer_.piece();
}

void Pipeline::multiply(const Pass& pass, const Panel& panel, const std::vector<Unit>& units, size_t first, int64_t ahead) {
  const size_t n = together(units, first);
  const std::vector<Step>& steps = pass.tables[panel.vecs - 1][units[first].table];
  Block block{};
  for (size_t i = 0; i < n; ++i) block.rows[i] = pass.region + units[first + i].offset;
  block.rowBytes = pass.rowBytes;
  block.partBytes = pass.partBytes;
  block.panel = pass.weights->compact ? pass.expanded : pass.weights->panel(panel);
  block.parts = pass.engine.parts;
  block.weightParts = pass.weights->parts;
  block.colTiles = panel.vecs;
  block.steps = steps.data();
  block.numSteps = static_cast<int64_t>(steps.size());
  block.sums = pass.sums + flip_ * kBlockSide * kBlockSide;
  block.sumsPitch = kBlockSide;
  Aside aside{next_piece, this, storesLeft_ + ahead};
  pass.engine.tiles->multiply(block, aside);
  pending_ = {{&units[first], n == 2 ? &units[first + 1] : nullptr}, &panel, block.sums, 0};
  storesLeft_ = static_cast<int64_t>(n) * kPiecesPerUnit;
  flip_ ^= 1;
}

void Pipeline::next_piece(void* state) {
  auto* self = static_cast<Pipeline*>(state);
  if (self->storesLeft_ > 0) {
    self->store_piece(*self->pass_);
    --self->storesLeft_;
    return;
  }
  self->packer_.piece();
  ++self->packed_;
}

void Pipeline::store_piece(const Pass& pass) {
  const int unit = pending_.row / kSide;
  const int first = pending_.row % kSide;
  const TileRows& out = pending_.units[unit]->out;
  const int end = std::min(first + kPieceRows, out.count);
  if (first < end) {
    pass.kernels->store_tile(pass.epilogue, pending_.sums + unit * kSide * kBlockSide, kBlockSide, out, first, end, pending_.panel->cols);
  }
  pending_.row += kPieceRows;
}

}  // namespace vd::cpu::amx
