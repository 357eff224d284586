// conv on Hopper in float32, weights of 16 bits: device/matmul_sm90_floats.cuh. Symbols: conv_sm90_f32_<tile>.
// Measured: docs/kernels/conv.md.
#include "../../device/matmul_sm90.cuh"

using namespace vd::device;

#define VD_CONV_FLOATS(tile, tileName) \
  VD_KERNEL(conv_sm90_f32_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<float, tile, false>>)

VD_CONV_FLOATS(41, m128n128f)
VD_CONV_FLOATS(42, m128n64f)
