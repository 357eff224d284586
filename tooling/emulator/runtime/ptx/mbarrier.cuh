// Stands in for device/ptx/mbarrier.cuh.
#pragma once
#include "../builtins.h"

namespace vd::device::ptx {

inline void mbarrier_init(uint32_t barrier, uint32_t count) { emulator::phase_init(barrier, count); }
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) { emulator::phase_arrive(barrier, 1, bytes); }
inline void mbarrier_arrive(uint32_t barrier) { emulator::phase_arrive(barrier, 1, 0); }
inline uint32_t map_to_block(uint32_t address, uint32_t rank) { return address % emulator::kWindowBytes + (rank << emulator::kWindowBits); }
inline void mbarrier_arrive_cluster(uint32_t mapped) { emulator::phase_arrive(mapped, 1, 0); }
/** Waits where the instruction would only ask: threads that ask in turns see the same. */
inline bool mbarrier_try_wait(uint32_t barrier, uint32_t parity) {
  emulator::phase_wait(barrier, parity);
  return true;
}
inline void mbarrier_wait(uint32_t barrier, uint32_t parity) { emulator::phase_wait(barrier, parity); }
inline uint32_t cluster_block_rank() { return emulator::cluster_rank(); }
inline void cluster_arrive() { emulator::cluster_arrive(); }
inline void cluster_wait() { emulator::cluster_wait(); }
inline void fence_proxy_async() {}
inline void named_barrier(int id, int threads) { emulator::barrier_wait(static_cast<uint32_t>(id), static_cast<uint32_t>(threads)); }
inline void named_barrier_arrive(int id, int threads) {
  emulator::barrier_arrive(static_cast<uint32_t>(id), static_cast<uint32_t>(threads));
}

}  // namespace vd::device::ptx
