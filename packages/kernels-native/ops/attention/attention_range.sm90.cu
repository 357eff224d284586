// attention on Hopper where a row sees one range of keys, or all: attention_range.sm90.cuh.
// Symbols: attention_sm90_range_<dtype>_d<dim>.
#include "attention_range.sm90.cuh"

using namespace vd::device;

#define VD_RANGE(type, name, dim)                                                                    \
  VD_KERNEL_OVERLAPPED(attention_sm90_range_##name##_d##dim, AttentionRangeParams, kRangeThreads, 1, \
                       attention_range<RangeConfig<type, dim, false>>)
#define VD_RANGE_ALL(type, name) \
  VD_RANGE(type, name, 64)       \
  VD_RANGE(type, name, 80)       \
  VD_RANGE(type, name, 96)       \
  VD_RANGE(type, name, 128)

VD_RANGE_ALL(__half, f16)
VD_RANGE_ALL(__nv_bfloat16, bf16)
