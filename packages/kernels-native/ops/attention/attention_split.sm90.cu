// attention on Hopper in blocks whose warpgroups share rows and divide keys: attention_split.sm90.cuh. Symbols:
// attention_sm90_split_<dtype>_d<dim>.
#include "attention_split.sm90.cuh"

using namespace vd::device;

#define VD_SPLIT(type, name, tile, tileName)                                                                     \
  VD_KERNEL(attention_sm90_split_##name##_##tileName, AttentionRangeParams, split_threads(kSplitTiles[tile]), 1, \
            attention_split<SplitConfig<type, tile>>)
#define VD_SPLIT_ALL(type, name) \
  VD_SPLIT(type, name, 0, d48)   \
  VD_SPLIT(type, name, 1, d64)   \
  VD_SPLIT(type, name, 2, d64x2) \
  VD_SPLIT(type, name, 3, d80)   \
  VD_SPLIT(type, name, 4, d96)   \
  VD_SPLIT(type, name, 5, d128)  \
  VD_SPLIT(type, name, 6, d160)

VD_SPLIT_ALL(__half, f16)
VD_SPLIT_ALL(__nv_bfloat16, bf16)
