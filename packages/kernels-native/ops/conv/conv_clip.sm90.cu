// conv on Hopper with frames in front of x or repeated at its borders: the tiles of conv.sm90.cu that are not staged, with boxes of
// one frame, which is loaded from where it lies.
// Symbols: conv_sm90_<dtype>_<tile>_clip.
#include "../../device/matmul_sm90.cuh"

using namespace vd::device;

#define VD_CONV(type, name, tile, tileName)                                            \
  VD_KERNEL(conv_sm90_##name##_##tileName##_clip, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, false, false, false, true>>)
#define VD_CONV_ALL(type, name)      \
  VD_CONV(type, name, 0, m128n256)   \
  VD_CONV(type, name, 1, m256n160)   \
  VD_CONV(type, name, 2, m128n128pp) \
  VD_CONV(type, name, 3, m128n160pp) \
  VD_CONV(type, name, 4, m128n128)   \
  VD_CONV(type, name, 5, m128n64)    \
  VD_CONV(type, name, 6, m256n32)

VD_CONV_ALL(__half, f16)
VD_CONV_ALL(__nv_bfloat16, bf16)
