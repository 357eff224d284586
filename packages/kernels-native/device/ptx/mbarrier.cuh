// Shared-memory barriers. PTX ISA: "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
/** Makes initialised barriers visible to the cluster and to the copy engine. */
__device__ __forceinline__ void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/** Address of the same shared variable in block `rank` of the cluster. */
__device__ __forceinline__ uint32_t map_to_block(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
/** An arrival at another block's barrier. Block scope on purpose: it orders nothing but tensor-core reads that have
 *  already completed, and release at cluster scope would wait for every store of the thread. */
__device__ __forceinline__ void mbarrier_arrive_cluster(uint32_t mapped) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(mapped) : "memory");
}
__device__ __forceinline__ bool mbarrier_try_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done;
}
/** Waits until the phase of parity `parity` has completed. */
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  while (!mbarrier_try_wait(barrier, parity)) {
  }
}
__device__ __forceinline__ uint32_t cluster_block_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
/** Orders ordinary shared-memory stores before later reads by tensor cores or the copy engine. */
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/** Barrier among `threads` threads of the block, by number. */
__device__ __forceinline__ void named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
/** Counts this thread at a named barrier that others wait at. */
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace vd::device::ptx
