// Parameters of the attention kernels, shared by host and device.
#pragma once
#include <cstdint>

#include "../../device/attention_rows.h"
#include "../../device/tensor_map.h"

namespace vd::device {

/** Threads of the Hopper kernels for heads of 512. */
inline constexpr int kAttentionD512Threads = 384;
/** Dynamic shared memory of the Hopper kernels for heads of 512: Q, K and V; two tiles of P; partial scores; 1 KiB to align all. */
inline constexpr int kAttentionD512SharedBytes = 3 * 64 * 1024 + 4 * 8192 + 1024;

/** Of the kernel that holds queries of 512 channels in registers: keys of a tile, tiles of K and of V that are under way, and how many of
 *  four slices of 64 channels a warpgroup holds. */
inline constexpr int kAttentionHeldKeys = 32, kAttentionHeldStagesK = 2, kAttentionHeldStagesV = 3, kAttentionHeldSlices = 2;
/** Its dynamic shared memory: the rest of Q; K and V; two sums of each of two warpgroups; 1 KiB to align all. */
inline constexpr int kAttentionHeldSharedBytes =
    2 * (4 - kAttentionHeldSlices) * 8192 + ((kAttentionHeldStagesK + kAttentionHeldStagesV) * 1024 + 4 * 64 * 4) * kAttentionHeldKeys +
    1024;

/** Tensor maps are [B·F, S, heads, D], or [B·F, S, D] of heads of 512, copied in boxes of 64 channels. */
struct AttentionSm90Params {
  TensorMap q, k, v;
  void* y;
  float* lse;           // may be null
  int64_t yPitch;
  int32_t heads, seqQ, seqK;
  int32_t dim;          // of a head
  int32_t frames;       // F of q
  int32_t keyFrames;    // F of k: 1 or frames
  int32_t numQTiles;    // per head and frame
  int32_t numTiles;
  float scale;          // of scores, times log2(e)
};

/** Where AttentionSm90Params has its maps, too. */
struct AttentionMaps {
  TensorMap q, k, v;
  TensorMap mask;  // [B or 1, H or 1, S, L] in boxes of 128 bytes by 64 rows, where maskTiles says so
  TensorMap y;     // of kernels that store through the copy engine
};

/** Most keys that a thread has the scores of. */
inline constexpr int kFewKeys = 8;

/** Of the Hopper kernels for rows that see part of the keys. Tensor maps are [B·F, S, heads, D], so that
 * channels behind a head are zeros; the addresses of q, k and v in `rows` are not used. */
struct AttentionRangeParams : AttentionMaps {
  AttentionLocalParams rows;
  int32_t maskTiles;      // the mask comes through the copy engine
  int32_t keyFrames;      // F of k: 1 or frames
  int32_t headsTogether;  // heads and frames whose longest tiles come first
  int32_t numTiles;
};

/** Queries or keys that are normalised and rotated: rows of heads side by side. */
struct AttentionHeadsSide {
  const void* x;
  void* out;            // packed
  const void* norm;     // [dim], or null
  const float* rotary;  // cosine and sine per pair of channels and place, or null
  int64_t rows, pitch, rotaryPitch;
  int32_t numPlaces, placeStep;  // row i has place i / placeStep % numPlaces
  int32_t normType, numPairs;
};

struct AttentionHeadsParams {
  AttentionHeadsSide sides[2];
  int32_t heads, dim;
  int32_t adjacent;  // pairs are channels 2i and 2i + 1, else i and i + numPairs
  float eps;
};

}  // namespace vd::device
