// Parameters of the Hopper matrix core where it normalises its source, shared by host and device.
#pragma once
#include "matmul_sm90.h"

namespace vd::device {

/** How the source of normed tiles is normalised: (x - mean) / deviation * weight + bias by channel groups, then silu where
 *  that is wanted. */
struct MatmulSourceNorm {
  const float* stats;   // (mean, 1/deviation) [rows, groups], of framesPerRow frames each
  const float* weight;  // of each channel
  const float* bias;
  int64_t statsPitch;  // elements from one group's pair to the next
  int32_t groups, groupChannels, framesPerRow, silu;
  const float* codeScale;  // what is normalised becomes float8 multiples of this; null: numbers of the source's type
};

/** Parameters of normed tiles. */
struct MatmulNormedParams {
  MatmulSm90Params matmul;
  MatmulSourceNorm norm;
};

/** Warps of a block that normalise: as many as keep up with the tensor cores, which take as long for fewer pixels of more columns. */
constexpr int normed_warps(const MatmulTile& t) { return t.tileM == 256 ? 4 : 2; }

/** Threads of a block: two warpgroups that multiply, a warp for weights, one for results, and those that normalise; in whole warpgroups. */
constexpr int normed_threads(const MatmulTile& t) { return 256 + (normed_warps(t) + 2 + 3) / 4 * 128; }

}  // namespace vd::device
