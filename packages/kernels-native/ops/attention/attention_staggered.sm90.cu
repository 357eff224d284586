// attention on Hopper in warpgroups half a round of keys apart: attention_staggered.sm90.cuh. Symbols:
// attention_sm90_staggered_<dtype>_d<dim>.
#include "attention_staggered.sm90.cuh"

using namespace vd::device;

#define VD_STAGGERED(type, name, tile, dim)                                                       \
  VD_KERNEL(attention_sm90_staggered_##name##_d##dim, AttentionRangeParams, kStaggeredThreads, 1, \
            attention_staggered<StaggeredConfig<type, tile>>)
#define VD_STAGGERED_ALL(type, name) \
  VD_STAGGERED(type, name, 0, 48)    \
  VD_STAGGERED(type, name, 1, 64)    \
  VD_STAGGERED(type, name, 2, 80)    \
  VD_STAGGERED(type, name, 3, 96)    \
  VD_STAGGERED(type, name, 4, 128)

VD_STAGGERED_ALL(__half, f16)
VD_STAGGERED_ALL(__nv_bfloat16, bf16)
