// Numbers of any float type in any memory as float32.
#pragma once
#include <vector>

#include "float_element.h"
#include "memory.h"

namespace vd {

/** Pixels of a tensor: element (i, c) lies at byteOffset + (i * pitch + c) * itemsize. */
struct FloatRegion {
  size_t byteOffset = 0;
  DType dtype = DType::f32;
  size_t pixels = 0, channels = 0, pitch = 0;
};

/** The region's elements, packed; it must lie inside the memory. */
std::vector<float> read_floats(const Memory& memory, const FloatRegion& region);

}  // namespace vd
