// Forms that constant weights take on the device, shared by planner and kernel.
#pragma once
#include <cstdint>

namespace vd::device {

enum class PackKind : int32_t {
  convert = 0,       // same order, another element type
  conv = 1,          // [K,C,taps] → [K,taps,C']
  convUpsample = 2,  // [K,C,1,3,3] → [4,K,2x2,C']: nearest-2x then 3x3 as four 2x2, phase = 2 * (row & 1) + (column & 1)
  convTransposed = 3,  // [C,K,1,4,4] → [4,K,2x2,C']: the taps that meet pixels, phases as above
  convGroups = 4,    // [K,C,taps] → [taps,C,K], C: channels of a group
  convWinograd = 5,  // [K,C,1,3,3] → [36,K,C']: G g Gᵀ of Winograd's F(4x4, 3x3), points 0, ±2/3, ±3/2, infinity; by winograd_filters
  convGroupsMma = 6,  // [K,C,1,3,3] → [K/8,C*3/16,3,32,4]: fragments of m16n8k16, depth over columns and C of each row; whole, with zeros
};

/** C' is C rounded up to 16 bytes of the target, the rest zeros. */
struct PackParams {
  const void* source;
  void* target;
  int64_t count;  // elements of the target
  PackKind kind;
  int32_t rows, channels, paddedChannels, taps;
  int32_t sourceType, targetType;
};

}  // namespace vd::device
