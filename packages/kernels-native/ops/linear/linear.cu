// linear on every architecture: tensor cores through mma.sync (device/matmul_mma.cuh; float32 by
// device/matmul_tf32.cuh), plain float32 for float32 and bfloat16 before sm_80, and the packing of weights.
// Symbols (device/matmul_variants.cuh): linear_mma_<dtype>_<tile>[_scalar], linear_tf32x3_<tile>[_scalar],
// linear_tf32x2_<tile>[_scalar] (weights of 16 bits), linear_plain_<dtype>, linear_pack.
#include "../../device/matmul_variants.cuh"

using namespace vd::device;

VD_MATMUL_KERNELS(linear)
