// Stands in for device/ptx/cluster.cuh.
#pragma once
#include "shared.h"

namespace vd::device::ptx {

inline uint32_t cluster_num_blocks() { return emulator::cluster_size(); }
inline float2 load_shared8(uint32_t address) { return emulator::load_shared<float2>(address); }
inline float4 load_cluster16(uint32_t mapped) { return emulator::load_shared<float4>(mapped); }
inline void store_cluster16(uint32_t mapped, float4 v) { emulator::store_shared(mapped, v); }
inline void store_shared8(uint32_t address, float x, float y) { emulator::store_shared(address, make_float2(x, y)); }

}  // namespace vd::device::ptx
