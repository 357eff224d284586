// Stands in for device/ptx/registers.cuh: fibers have all registers that they need.
#pragma once

namespace vd::device::ptx {

template <int kCount> inline void registers_raise() {}
template <int kCount> inline void registers_lower() {}

}  // namespace vd::device::ptx
