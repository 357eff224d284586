// float32 numbers of the host from and to floats of any type in any memory.
#pragma once
#include "../core/memory.h"
#include "../generated/dtype.h"

namespace vd::cpu {

/** Pixels of a tensor: element (i, c) lies at byteOffset + (i * pitch + c) * itemsize. */
struct FloatRegion {
  size_t byteOffset = 0;
  DType dtype = DType::f32;
  size_t pixels = 0, channels = 0, pitch = 0;
  /** Where it is not 0, every so many pixels are written as planes, one for each channel. */
  size_t planePixels = 0;
};

/** Writes the region's elements to `values`, packed, pixel by pixel or plane by plane, on some threads of its own where they are many. The
 * region must lie inside the memory. Returns the index of the first that is not finite, or their number. */
size_t read_floats(const Memory& memory, const FloatRegion& region, float* values);

/** Writes `count` values from byte `offset` on as elements of a float type, rounded to nearest even. They must fit. Returns their largest
 *  magnitude, or NaN where one is. */
float write_floats(Memory& memory, size_t offset, DType dtype, const float* values, size_t count);

}  // namespace vd::cpu
