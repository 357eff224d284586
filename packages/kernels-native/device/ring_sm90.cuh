// A ring of shared-memory stages that the copy engine fills: each stage has a barrier that tells when it is full, and one that
// tells when its readers are done with it.
#pragma once
#include "ptx/mbarrier.cuh"

namespace vd::device {

/** A position in a ring of kStages stages, and the parity of the phase that its barrier waits for. */
template <int kStages> struct RingCursor {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/** Waits until a stage is free. ring: has empty_at and full_at. */
template <class Ring, int kStages> __device__ __forceinline__ void await_free(const Ring& ring, const RingCursor<kStages>& at) {
  ptx::mbarrier_wait(ring.empty_at(at.stage), at.parity);
}

/** Announces to a stage's full barrier that `bytes` bytes are on their way; returns the barrier. */
template <class Ring, int kStages>
__device__ __forceinline__ uint32_t expect_bytes(const Ring& ring, const RingCursor<kStages>& at, uint32_t bytes) {
  ptx::mbarrier_arrive_expect_tx(ring.full_at(at.stage), bytes);
  return ring.full_at(at.stage);
}

/** One arrival of this warp at a stage's empty barrier, in every block of the cluster: each of them fills our stages. */
template <int kCluster> __device__ __forceinline__ void release_stage(uint32_t emptyBarrier) {
  const int lane = threadIdx.x & 31;
  if constexpr (kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(emptyBarrier);
  } else {
    if (lane < kCluster) ptx::mbarrier_arrive_cluster(ptx::map_to_block(emptyBarrier, lane));
  }
}

}  // namespace vd::device
