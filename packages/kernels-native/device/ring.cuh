// A ring of shared-memory stages that is filled ahead of its use. `load(step, stage)` starts copies; between two steps of
// `use(step, stage)` the block synchronises, so a stage is refilled only when every warp is done with it.
#pragma once
#include "ptx/mma.cuh"

namespace vd::device {

/** Fills the first kStages - 1 stages. The ring must be free: after ring_run, or at the start. */
template <int kStages, class Load> __device__ __forceinline__ void ring_start(int numSteps, Load load) {
#pragma unroll 1
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < numSteps) load(s, s);
    ptx::copy_commit();
  }
}

/** All steps after ring_start; on return every copy has arrived and the ring is free. */
template <int kStages, class Load, class Use> __device__ __forceinline__ void ring_run(int numSteps, Load load, Use use) {
  for (int k = 0; k < numSteps; ++k) {
    ptx::copy_wait<kStages - 2>();
    __syncthreads();
    const int next = k + kStages - 1;
    if (next < numSteps) load(next, next % kStages);
    ptx::copy_commit();
    use(k, k % kStages);
  }
  ptx::copy_wait<0>();
  __syncthreads();
}

}  // namespace vd::device
