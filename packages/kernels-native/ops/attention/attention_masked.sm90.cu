// attention on Hopper with masks and with windows of rows and columns: attention_range.sm90.cuh.
// Symbols: attention_sm90_masked_<dtype>_d<dim>.
#include "attention_range.sm90.cuh"

using namespace vd::device;

#define VD_MASKED(type, name, dim)                                                                    \
  VD_KERNEL_OVERLAPPED(attention_sm90_masked_##name##_d##dim, AttentionRangeParams, kRangeThreads, 1, \
                       attention_range<RangeConfig<type, dim, true>>)
#define VD_MASKED_ALL(type, name) \
  VD_MASKED(type, name, 64)       \
  VD_MASKED(type, name, 80)       \
  VD_MASKED(type, name, 96)       \
  VD_MASKED(type, name, 128)

VD_MASKED_ALL(__half, f16)
VD_MASKED_ALL(__nv_bfloat16, bf16)
