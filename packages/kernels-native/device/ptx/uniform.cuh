// Numbers that the threads of a warp share, made known as such. By all threads of a warp: its first one tells the others. The compiler then
// keeps what follows from them, as products' descriptors, in uniform registers, where wgmma reads them, instead of moving four words there
// before each product; and what it cannot recompute it keeps, instead of asking for the block's shared memory in each round of a loop.
#pragma once
#include <stdint.h>

namespace vd::device::ptx {

/** x, which all threads of the warp have. */
__device__ __forceinline__ uint32_t warp_uniform(uint32_t x) { return __shfl_sync(0xffffffffu, x, 0); }

/** threadIdx.x / 128. */
__device__ __forceinline__ int warpgroup_index() { return static_cast<int>(warp_uniform(threadIdx.x / 128)); }

}  // namespace vd::device::ptx
