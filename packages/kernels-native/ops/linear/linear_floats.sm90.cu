// linear on Hopper in float32, weights of 16 bits: device/matmul_sm90_floats.cuh. Symbols: linear_sm90_f32_<tile>.
// Measured: docs/kernels/linear.md.
#include "../../device/matmul_sm90.cuh"

using namespace vd::device;

#define VD_LINEAR_FLOATS(tile, tileName) \
  VD_KERNEL(linear_sm90_f32_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<float, tile, false, true>>)

VD_LINEAR_FLOATS(41, m128n128f)
VD_LINEAR_FLOATS(42, m128n64f)
