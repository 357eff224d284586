// attention on Hopper with masks and with windows of rows and columns: attention_range.sm90.cuh.
// Symbols: attention_sm90_masked_<dtype>_<tile>.
#include "attention_range.sm90.cuh"

using namespace vd::device;

#define VD_MASKED(type, name, tile, tileName)                                                                                \
  VD_KERNEL_OVERLAPPED(attention_sm90_masked_##name##_##tileName, AttentionRangeParams, range_threads(kRangeTiles[tile]), 1, \
                       attention_range<RangeConfig<type, tile, true>>)
#define VD_MASKED_ALL(type, name) \
  VD_MASKED(type, name, 2, d64)   \
  VD_MASKED(type, name, 3, d80)   \
  VD_MASKED(type, name, 4, d96)   \
  VD_MASKED(type, name, 5, d128)

VD_MASKED_ALL(__half, f16)
VD_MASKED_ALL(__nv_bfloat16, bf16)
