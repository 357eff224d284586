// Shared memory of the other blocks of a cluster. PTX ISA: "State Spaces, Types, and Variables: .shared".
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

__device__ __forceinline__ uint32_t cluster_num_blocks() {
  uint32_t count;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}
__device__ __forceinline__ float2 load_shared8(uint32_t address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
  return v;
}
/** Four floats at an address of map_to_block. Nothing but barriers orders it with stores. */
__device__ __forceinline__ float4 load_cluster16(uint32_t mapped) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(mapped));
  return v;
}
/** Writes four floats to an address of map_to_block. Nothing but barriers orders it with loads. */
__device__ __forceinline__ void store_cluster16(uint32_t mapped, float4 v) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(mapped), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
__device__ __forceinline__ void store_shared8(uint32_t address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

}  // namespace vd::device::ptx
