// Weights packed for the AMX engine.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "amx_kernels.h"
#include "panels.h"

namespace vd::cpu::amx {

/** Per panel, step, part and column tile: sixteen rows of sixteen columns of pairs (see kStep). Large f16 weights are
 *  kept as one part of f16 instead, half the bytes, and each task splits a panel before it uses it. */
struct PackedWeights {
  PanelLayout layout;  // panels of one or two tiles
  int64_t steps = 0;
  int parts = 0;  // as the tiles see them
  bool compact = false;
  std::shared_ptr<AlignedBlock> block;

  int stored_parts() const { return compact ? 1 : parts; }
  const std::byte* panel(const Panel& p) const { return block->data() + p.firstVec * steps * stored_parts() * kTileBytes; }
  int64_t bytes() const { return layout.packed_vecs() * steps * stored_parts() * kTileBytes; }
  /** Work space for a panel that is split at use. */
  int64_t expanded_bytes() const { return compact ? 2 * steps * parts * kTileBytes : 0; }
};

/** True for weights of `parts` parts that are better kept as they are stored: beyond 4 MiB when split, memory decides. */
constexpr bool keeps_compact(DType type, int64_t count, int parts) {
  return parts == 2 && type == DType::f16 && count * 4 > int64_t{4} << 20;
}

/** Parts that hold every weight exactly, at most `most`. */
int parts_of(DType type, int64_t numRows, int64_t k, const RowSource& rows, int most);

/** How weights are to be stored. */
struct WeightForm {
  std::vector<int64_t> segments;  // lengths of consecutive pieces of k, each of which starts on a new step
  int parts;
  bool compact;
};

/** Packs through the cache. */
PackedWeights pack_weights(PackCache& cache, PackIdentity identity, const PanelLayout& layout, const WeightForm& form,
                           const RowSource& rows);

}  // namespace vd::cpu::amx
