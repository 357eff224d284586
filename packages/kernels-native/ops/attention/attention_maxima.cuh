// When the maximum that scores are taken relative to moves: seldom, so that outputs are seldom multiplied. Softmax is the same
// for every reference; it only has to keep powers within float16's range.
#pragma once
#include "../../device/ptx/math.cuh"

namespace vd::device {

/** Scores may exceed their reference by so many powers of two: far from float16's 2^16. */
inline constexpr float kMaximumSlack = 8.0f;

/** The largest of two rows among the four threads that have parts of them. */
__device__ __forceinline__ void largest_of_quad(float (&best)[2]) {
#pragma unroll
  for (int step = 1; step <= 2; step <<= 1)
#pragma unroll
    for (int r = 0; r < 2; ++r) best[r] = fmaxf(best[r], __shfl_xor_sync(0xffffffffu, best[r], step));
}

/** Takes the largest scores of a block as maxima of this thread's two rows where those of a thread of the warp exceed its maximum by more
 *  than the slack. best: among the thread's own keys; it asks others for theirs in such blocks alone. Returns whether one did; factors:
 *  what older sums and outputs must be multiplied with. kHidden: rows may have no score so far, their maximum is -inf then. */
template <bool kHidden = false>
__device__ __forceinline__ bool raise_maxima(float (&maxima)[2], float (&best)[2], float scale, float (&factors)[2]) {
  const bool exceeds = (best[0] - maxima[0]) * scale > kMaximumSlack || (best[1] - maxima[1]) * scale > kMaximumSlack;
  factors[0] = factors[1] = 1.0f;
  if (!__any_sync(0xffffffffu, exceeds)) return false;
  largest_of_quad(best);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float raised = fmaxf(best[r], maxima[r]);
    if (!kHidden || raised != -INFINITY) factors[r] = ptx::exp2_approx((maxima[r] - raised) * scale);
    maxima[r] = raised;
  }
  return true;
}

}  // namespace vd::device
