// What the driver that stands in writes into the 128 bytes of a tensor map, and kernels read from it.
#pragma once
#include <stdint.h>

namespace vd::emulator {

struct TensorMapRecord {
  uint64_t base;
  uint64_t strideBytes[4];  // of dimensions 1 to 4
  uint32_t dims[5];
  uint16_t box[5];
  uint8_t steps[5];
  uint8_t rank, elementBytes, patternBytes;  // pattern: 16 without a swizzle
};
static_assert(sizeof(TensorMapRecord) <= 128);

}  // namespace vd::emulator
