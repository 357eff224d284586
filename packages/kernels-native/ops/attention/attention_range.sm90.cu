// attention on Hopper where a row sees one range of keys, or all: attention_range.sm90.cuh.
// Symbols: attention_sm90_range_<dtype>_<tile>.
#include "attention_range.sm90.cuh"

using namespace vd::device;

#define VD_RANGE(type, name, tile, tileName)                                                                                \
  VD_KERNEL_OVERLAPPED(attention_sm90_range_##name##_##tileName, AttentionRangeParams, range_threads(kRangeTiles[tile]), 1, \
                       attention_range<RangeConfig<type, tile, false>>)
#define VD_RANGE_ALL(type, name) \
  VD_RANGE(type, name, 0, d48x3) \
  VD_RANGE(type, name, 1, d48)   \
  VD_RANGE(type, name, 2, d64)   \
  VD_RANGE(type, name, 3, d80)   \
  VD_RANGE(type, name, 4, d96)   \
  VD_RANGE(type, name, 5, d128)

VD_RANGE_ALL(__half, f16)
VD_RANGE_ALL(__nv_bfloat16, bf16)
