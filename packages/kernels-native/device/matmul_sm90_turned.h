// Parameters of the Hopper matrix core for few tokens, shared by host and device.
#pragma once
#include <cstdint>

#include "epilogue.h"
#include "tensor_map.h"

namespace vd::device {

/** y[token, n] = tail(sum over c of weights[n, c] · x[token, c]). */
struct MatmulTurnedParams {
  TensorMap x;        // [1, 1, tokens, C], boxes of a tile's tokens
  TensorMap weights;  // [1, N, 1, C], boxes of a tile's columns
  Epilogue epilogue;
  int32_t numKBlocks;       // blocks of 64 channels
  int32_t numTokens;
  int32_t numColumnTiles;
  int32_t constantWeights;  // nothing on the device writes the weights while the kernel may run: they are loaded early
};

/** A kernel's shape: `columns` columns of the result, which are the rows of the product, by so many tokens; how many stages of 64 channels
 *  are under way, and so how many blocks a multiprocessor has room for. */
struct TurnedTile {
  int tokens, columns, stages, minBlocks;
  const char* name;
};
/** Of those with equal tokens and columns the deepest ring first. */
inline constexpr TurnedTile kTurnedTiles[] = {{88, 128, 7, 1, "turned_m88n128"}, {96, 128, 7, 1, "turned_m96n128"},
                                              {192, 64, 7, 1, "turned_m192n64"}, {32, 64, 16, 1, "turned_m32n64s16"},
                                              {32, 64, 8, 2, "turned_m32n64s8"}, {32, 64, 4, 4, "turned_m32n64"}};

/** A warpgroup for every 64 columns multiplies, one thread of a further warp loads. */
constexpr int turned_consumers(const TurnedTile& t) { return t.columns * 2; }
constexpr int turned_threads(const TurnedTile& t) { return turned_consumers(t) + 32; }
constexpr int turned_stage_bytes(const TurnedTile& t) { return (t.tokens + t.columns) * 128; }
/** Dynamic shared memory, which nothing lies in front of: the ring of stages, its barriers. */
constexpr int turned_shared_bytes(const TurnedTile& t) { return t.stages * (turned_stage_bytes(t) + 16); }

}  // namespace vd::device
