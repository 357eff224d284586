// attention on Hopper in blocks of one warpgroup: attention_block.sm90.cuh. Symbols: attention_sm90_block_<dtype>_d<dim>.
#include "attention_block.sm90.cuh"

using namespace vd::device;

#define VD_BLOCK(type, name, tile, dim)                                                                                        \
  VD_KERNEL_OVERLAPPED(attention_sm90_block_##name##_d##dim, AttentionRangeParams, kBlockThreads, kBlockTiles[tile].minBlocks, \
                       attention_block<BlockConfig<type, tile>>)
#define VD_BLOCK_ALL(type, name) \
  VD_BLOCK(type, name, 0, 48)    \
  VD_BLOCK(type, name, 1, 64)    \
  VD_BLOCK(type, name, 2, 80)    \
  VD_BLOCK(type, name, 3, 96)    \
  VD_BLOCK(type, name, 4, 128)   \
  VD_BLOCK(type, name, 5, 160)

VD_BLOCK_ALL(__half, f16)
VD_BLOCK_ALL(__nv_bfloat16, bf16)
