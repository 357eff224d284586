// Kernel entries: one line per variant names the symbol in the cubin.
#pragma once
#include <stdint.h>

/** Defines extern "C" kernel `name` running `body(p)` with `threads` threads, at least `minBlocks` per multiprocessor. */
#define VD_KERNEL(name, Params, threads, minBlocks, ...) \
  extern "C" __global__ void __launch_bounds__(threads, minBlocks) name(const __grid_constant__ Params p) { __VA_ARGS__(p); }

namespace vd::device {

/** Address of shared memory in the shared window, as PTX wants it. */
__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

}  // namespace vd::device
