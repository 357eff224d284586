// Sizes and work space of attention on the AMX engine.
#pragma once
#include <cstdint>
#include <vector>

#include "../../../native/cpu/panels.h"

#include "attention_amx_kernels.h"
#include "attention_fast.h"

namespace vd::cpu {

/** Queries per task: whole tiles. */
inline constexpr int64_t kMaxAmxQueries = 12 * amx::kBlockSide;

/** Where a worker keeps a chunk of keys and the tiles under way. */
struct AttentionAmxBuffers {
  std::byte* keys;
  std::byte* values;
  std::byte* queries[2];        // split, by parity of the tile
  std::byte* probabilities[2];  // split
  float* scores[2];             // [kBlockSide, score pitch]
  float* mask;                  // [kBlockSide, score pitch]
  float* sums[2];               // [kBlockSide, kBlockSide], by parity of the panel
  SoftmaxState state;           // correction per query
};

/** Sizes that follow from the arguments. */
struct AttentionAmxShape {
  int parts;  // of queries, keys, values and probabilities
  int64_t headDim;
  int64_t paddedDim;
  int64_t chunk;  // keys at a time
  PanelLayout keyLayout;
  PanelLayout valueLayout;
  std::vector<amx::Step> keySteps;
  std::vector<amx::Step> valueSteps[2];  // for panels of one and of two tiles

  AttentionAmxShape(const AttentionArgs& args, int numParts);
  int64_t split_pitch(int64_t values) const { return amx::split_pitch(values, parts); }
  int64_t key_step_bytes() const { return 2 * parts * amx::kTileBytes; }
  int64_t key_panel_bytes() const { return paddedDim / amx::kStep * key_step_bytes(); }
  int64_t key_bytes() const { return chunk / amx::kBlockSide * key_panel_bytes(); }
  int64_t value_bytes() const { return chunk / amx::kStep * valueLayout.packed_vecs() * parts * amx::kTileBytes; }
  /** An odd number of cache lines: rows a power of two apart would share a few sets of the cache. */
  int64_t score_pitch() const { return chunk + amx::kSide; }
  int64_t scratch_bytes() const;
  AttentionAmxBuffers buffers_in(std::byte* scratch) const;
};

}  // namespace vd::cpu
