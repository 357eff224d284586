// Kernel entries: one line per variant names the symbol in the cubin.
#pragma once
#include <stdint.h>

/** Defines extern "C" kernel `name` running `body(p)` with `threads` threads, at least `minBlocks` per multiprocessor. */
#define VD_KERNEL(name, Params, threads, minBlocks, ...) \
  extern "C" __global__ void __launch_bounds__(threads, minBlocks) name(const __grid_constant__ Params p) { __VA_ARGS__(p); }

/** The same for launches that may begin before the one before them has ended (Launch::overlapped): its blocks come to the
 *  multiprocessors and wait there, so that a launch's own latency is hidden. Other architectures than Hopper and newer ones do not wait. */
#define VD_KERNEL_OVERLAPPED(name, Params, threads, minBlocks, ...)                                         \
  extern "C" __global__ void __launch_bounds__(threads, minBlocks) name(const __grid_constant__ Params p) { \
    vd::device::await_launch_before();                                                                      \
    __VA_ARGS__(p);                                                                                         \
  }

namespace vd::device {

/** Lets the next launch begin. PTX ISA: "griddepcontrol". */
__device__ __forceinline__ void begin_next_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/** Waits until the launch before has ended and what it wrote is visible to this thread. */
__device__ __forceinline__ void await_results_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/** Lets the next launch begin, then waits until the one before has ended and what it wrote is visible. */
__device__ __forceinline__ void await_launch_before() {
  begin_next_launch();
  await_results_before();
}

/** Address of shared memory in the shared window, as PTX wants it. */
__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

}  // namespace vd::device
