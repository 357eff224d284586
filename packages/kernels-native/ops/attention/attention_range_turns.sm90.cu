// attention on Hopper where a row sees one range of keys, or all, with warpgroups that take turns: attention_range.sm90.cuh.
// Symbols: attention_sm90_range_<dtype>_d128_turns.
#include "attention_range.sm90.cuh"

using namespace vd::device;

#define VD_RANGE_TURNS(type, name)                                                                       \
  VD_KERNEL_OVERLAPPED(attention_sm90_range_##name##_d128_turns, AttentionRangeParams, kRangeThreads, 1, \
                       attention_range<RangeConfig<type, 128, false, true>>)

VD_RANGE_TURNS(__half, f16)
VD_RANGE_TURNS(__nv_bfloat16, bf16)
