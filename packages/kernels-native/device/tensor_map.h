// Room for a tensor map among the parameters of a kernel, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** An encoded tensor map of the copy engine; the driver's CUtensorMap has this size and alignment. */
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

}  // namespace vd::device
