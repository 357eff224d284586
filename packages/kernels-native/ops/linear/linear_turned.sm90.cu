// linear of few tokens on Hopper: device/matmul_sm90_turned.cuh. Symbols: linear_sm90_<dtype>_turned_<tile>.
#include "../../device/matmul_sm90_turned.cuh"

using namespace vd::device;

#define VD_LINEAR_TURNED(type, name, tile, tileName)                                                                                      \
  VD_KERNEL(linear_sm90_##name##_turned_##tileName, MatmulTurnedParams, turned_threads(kTurnedTiles[tile]), kTurnedTiles[tile].minBlocks, \
            matmul_sm90_turned<TurnedConfig<type, tile>>)
#define VD_LINEAR_TURNED_ALL(type, name)     \
  VD_LINEAR_TURNED(type, name, 0, m88n128)   \
  VD_LINEAR_TURNED(type, name, 1, m96n128)   \
  VD_LINEAR_TURNED(type, name, 2, m192n64)   \
  VD_LINEAR_TURNED(type, name, 3, m32n64s16) \
  VD_LINEAR_TURNED(type, name, 4, m32n64s8)  \
  VD_LINEAR_TURNED(type, name, 5, m32n64)

VD_LINEAR_TURNED_ALL(__half, f16)
VD_LINEAR_TURNED_ALL(__nv_bfloat16, bf16)
