// What the Hopper kernels for heads of up to 64 channels have in common, whose rows see all keys: a tile is some query rows of one head, a
// producer warp fills rings of keys and of values, and consumer warpgroups have 64 rows each.
//
//   producer                       consumers
//   qEmpty ─► load Q ─► qFull      attention.sm90.cu, attention_slim.sm90.cu
//   kEmpty ─► load K ─► kFull
//   vEmpty ─► load V ─► vFull
//
// Keys come round from those that stand where a tile's queries do, which queries tend to resemble most: their scores are what the others'
// are taken relative to (attention_maxima.cuh). Tiles in which that does not hold come again at the block's end.
#pragma once
#include "../../device/kernel.cuh"
#include "../../device/ptx/tma.cuh"
#include "../../device/ptx/uniform.cuh"
#include "../../device/ring_sm90.cuh"
#include "attention_params.h"

namespace vd::device {

/** Query rows and keys of a tile, and tiles of keys, and as many of values, under way. Rows lie in 128 bytes. */
template <int kRows_, int kKeys_, int kStages_> struct AttentionTiles {
  static constexpr int kRows = kRows_, kKeys = kKeys_, kStages = kStages_, kConsumers = kRows / 64;
  static constexpr int kQBytes = kRows * 128, kTileBytes = kKeys * 128;
  static constexpr int kBarriers = 3 + 4 * kStages, kWarps = 4 * kConsumers;
};

/** What consumers and the producer tell each other. */
template <class Tiles> struct AttentionSignals {
  uint64_t barriers[Tiles::kBarriers];
  int32_t missed[Tiles::kWarps];  // the first tile in which scores of a consumer warp's rows were too large, or -1
  uint32_t numMissed;
};

/** Where queries, keys, values and what lies behind them are in shared memory, and their barriers. */
struct AttentionShared {
  uint32_t q, k, v, rest, qFull, qEmpty, kFull, kEmpty, vFull, vEmpty, allMissed;
};

struct AttentionTile {
  int q, head, frame, keyFrame;  // first query row; frames counted over batches
};
template <class Tiles> __device__ __forceinline__ AttentionTile attention_tile(const AttentionSm90Params& p, int tile) {
  AttentionTile t;
  t.q = tile % p.numQTiles * Tiles::kRows;
  const int rest = tile / p.numQTiles;
  t.head = rest % p.heads;
  t.frame = rest / p.heads;
  t.keyFrame = p.keyFrames == p.frames ? t.frame : t.frame / p.frames;
  return t;
}

/** The tile of keys that a tile of queries begins with, of so many. */
template <class Tiles> __device__ __forceinline__ int attention_first_keys(const AttentionTile& t, int numBlocks) {
  return min(t.q / Tiles::kKeys, numBlocks - 1);
}
__device__ __forceinline__ int attention_next_keys(int keys, int numBlocks) { return keys + 1 == numBlocks ? 0 : keys + 1; }

/** The tiles of a block: its share, then those that a warp missed, once each. */
template <class Tiles> struct AttentionTurns {
  int tile = blockIdx.x;
  int repeats = -1;  // warps whose missed tiles have been looked at; -1 before

  /** Whether there is a tile left. atEnd: called behind the block's share, before what was missed is looked at. */
  template <class AtEnd>
  __device__ __forceinline__ bool more(const AttentionSm90Params& p, const AttentionShared& s, const AttentionSignals<Tiles>& signals,
                                       AtEnd atEnd) {
    if (repeats < 0) {
      if (tile < p.numTiles) return true;
      atEnd();
      ptx::mbarrier_wait(s.allMissed, 0);
      repeats = *static_cast<const volatile uint32_t*>(&signals.numMissed) > 0 ? 0 : Tiles::kWarps;
    }
    const volatile int32_t* missed = signals.missed;
    while (repeats < Tiles::kWarps) {
      tile = missed[repeats++];
      bool isNew = tile >= 0;
      for (int i = 0; i < repeats - 1; ++i) isNew = isNew && missed[i] != tile;
      if (isNew) return true;
    }
    return false;
  }
  __device__ __forceinline__ void advance() {
    if (repeats < 0) tile += gridDim.x;
  }
};

/** Finds the places in a block's memory, and makes the barriers ready. By all threads, who then meet. */
template <class Tiles>
__device__ __forceinline__ AttentionShared attention_shared(const uint8_t* dynamicShared, AttentionSignals<Tiles>& signals) {
  constexpr int kStages = Tiles::kStages;
  AttentionShared s;
  s.q = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  s.qFull = shared_address(signals.barriers);
  // As if unknown: the compiler would find them anew before each product.
  asm volatile("" : "+r"(s.q), "+r"(s.qFull));
  s.k = s.q + Tiles::kQBytes;
  s.v = s.k + kStages * Tiles::kTileBytes;
  s.rest = s.v + kStages * Tiles::kTileBytes;
  s.qEmpty = s.qFull + 8;
  s.kFull = s.qFull + 16;
  s.kEmpty = s.kFull + 8 * kStages;
  s.vFull = s.kEmpty + 8 * kStages;
  s.vEmpty = s.vFull + 8 * kStages;
  s.allMissed = s.vEmpty + 8 * kStages;
  if (threadIdx.x == 0) {
    signals.numMissed = 0;
    ptx::mbarrier_init(s.qFull, 1);
    ptx::mbarrier_init(s.qEmpty, Tiles::kWarps);
    ptx::mbarrier_init(s.allMissed, Tiles::kWarps);
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, Tiles::kWarps);
      ptx::mbarrier_init(s.vEmpty + 8 * i, Tiles::kWarps);
    }
    ptx::fence_mbarrier_init();
  }
  return s;
}

/** The producer thread. */
template <class Tiles>
__device__ __forceinline__ void attention_produce(const AttentionSm90Params& p, const AttentionShared& s,
                                                  const AttentionSignals<Tiles>& signals) {
  constexpr int kTileBytes = Tiles::kTileBytes;
  RingCursor<Tiles::kStages> cursor;
  uint32_t qParity = 1;
  const int numBlocks = (p.seqK + Tiles::kKeys - 1) / Tiles::kKeys;
  for (AttentionTurns<Tiles> turns; turns.more(p, s, signals, [] {}); turns.advance()) {
    const AttentionTile t = attention_tile<Tiles>(p, turns.tile);
    ptx::mbarrier_wait(s.qEmpty, qParity);
    qParity ^= 1;
    ptx::mbarrier_arrive_expect_tx(s.qFull, Tiles::kQBytes);
    ptx::tma_load_4d(s.q, &p.q, s.qFull, 0, t.head, t.q, t.frame);
    int keys = attention_first_keys<Tiles>(t, numBlocks);
    for (int j = 0; j < numBlocks; ++j) {
      ptx::mbarrier_wait(s.kEmpty + 8 * cursor.stage, cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(s.kFull + 8 * cursor.stage, kTileBytes);
      ptx::tma_load_4d(s.k + cursor.stage * kTileBytes, &p.k, s.kFull + 8 * cursor.stage, 0, t.head, keys * Tiles::kKeys, t.keyFrame);
      ptx::mbarrier_wait(s.vEmpty + 8 * cursor.stage, cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(s.vFull + 8 * cursor.stage, kTileBytes);
      ptx::tma_load_4d(s.v + cursor.stage * kTileBytes, &p.v, s.vFull + 8 * cursor.stage, 0, t.head, keys * Tiles::kKeys, t.keyFrame);
      cursor.advance();
      keys = attention_next_keys(keys, numBlocks);
    }
  }
}

/** Notes what this consumer warp missed. By all its lanes, once. */
template <class Tiles>
__device__ __forceinline__ void attention_tell_missed(const AttentionShared& s, AttentionSignals<Tiles>& signals, int missed) {
  if ((threadIdx.x & 31) != 0) return;
  signals.missed[threadIdx.x / 32] = missed;
  if (missed >= 0) atomicAdd(&signals.numMissed, 1u);
  ptx::mbarrier_arrive(s.allMissed);
}

}  // namespace vd::device
