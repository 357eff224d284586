// Kernel entries on the host: stands in for device/kernel.cuh.
#pragma once
#include <stdint.h>

#include "builtins.h"

/** Registers a kernel of this library under its name. */
#define VD_KERNEL(name, Params, threads, minBlocks, ...) \
  static void name(const void* raw) {                    \
    const Params& p = *static_cast<const Params*>(raw);  \
    __VA_ARGS__(p);                                      \
  }                                                      \
  static const bool name##IsRegistered = vd::emulator::add_kernel({#name, sizeof(Params), threads, &name});
#define VD_KERNEL_OVERLAPPED(name, Params, threads, minBlocks, ...) VD_KERNEL(name, Params, threads, minBlocks, __VA_ARGS__)

namespace vd::device {

inline void begin_next_launch() {}
inline void await_results_before() {}
inline void await_launch_before() {}
inline uint32_t shared_address(const void* p) { return __cvta_generic_to_shared(p); }

}  // namespace vd::device
