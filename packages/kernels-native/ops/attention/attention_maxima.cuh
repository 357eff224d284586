// When the maximum that scores are taken relative to moves: seldom, so that outputs are seldom multiplied. Softmax is the same
// for every reference; it only has to keep powers within float16's range.
//
// Rows of many keys trust the maximum of their first ones: nothing is compared on the way, and at the end the sum of the powers tells
// whether one may have been too large (within_slack). Then the row is computed again, with every block looked at. Both ways take the same
// maximum where none was too large, so that they agree in all bits.
#pragma once
#include "../../device/ptx/math.cuh"

namespace vd::device {

/** Scores may exceed their reference by so many powers of two: powers, and what rounding adds, stay below float16's 2^16. */
inline constexpr float kMaximumSlack = 15.0f;

/** Whether a sum of powers shows that none of them exceeds the slack. Not of NaN. */
__device__ __forceinline__ bool within_slack(float sum) { return sum < 32768.0f; }

/** The largest of two rows among the four threads that have parts of them. */
__device__ __forceinline__ void largest_of_quad(float (&best)[2]) {
#pragma unroll
  for (int step = 1; step <= 2; step <<= 1)
#pragma unroll
    for (int r = 0; r < 2; ++r) best[r] = fmaxf(best[r], __shfl_xor_sync(0xffffffffu, best[r], step));
}

/** Takes a block's largest score as the maximum of each of this thread's two rows that it exceeds by more than the slack. best: among the
 *  thread's own keys; it asks the row's other threads for theirs in blocks alone in which one of the warp exceeds its own. Returns whether
 *  one did; factors: what older sums and outputs must be multiplied with. The maximum of rows without a score so far is -inf. */
__device__ __forceinline__ bool raise_maxima(float (&maxima)[2], float (&best)[2], float scale, float (&factors)[2]) {
  const auto exceeds = [&](int r) { return (best[r] - maxima[r]) * scale > kMaximumSlack; };
  factors[0] = factors[1] = 1.0f;
  if (!__any_sync(0xffffffffu, exceeds(0) || exceeds(1))) return false;
  largest_of_quad(best);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (!exceeds(r)) continue;
    factors[r] = ptx::exp2_approx((maxima[r] - best[r]) * scale);
    maxima[r] = best[r];
  }
  return true;
}

}  // namespace vd::device
