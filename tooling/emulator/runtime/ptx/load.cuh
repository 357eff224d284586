// Stands in for device/ptx/load.cuh.
#pragma once
#include "../builtins.h"

namespace vd::device::ptx {

inline float load_here(const float* at) { return *at; }
inline uint4 load16_here(const void* at) { return *static_cast<const uint4*>(at); }

}  // namespace vd::device::ptx
