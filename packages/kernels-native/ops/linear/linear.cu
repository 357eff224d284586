// linear on every architecture: tensor cores through mma.sync (device/matmul_mma.cuh; float32 by
// device/matmul_tf32.cuh), plain float32 for float32 and bfloat16 before sm_80, and the packing of weights.
// Symbols: linear_mma_<dtype>_<tile>[_scalar], linear_tf32x3_<tile>[_scalar], linear_tf32x2_<tile>[_scalar] (weights of 16 bits),
// linear_plain_<dtype>, linear_pack.
#include "../../device/matmul_mma.cuh"
#include "../../device/matmul_tf32.cuh"
#include "../../device/pack.cuh"

using namespace vd::device;

#define VD_MMA(type, name, tileM, tileN, threads, minBlocks)                                                    \
  VD_KERNEL(linear_mma_##name##_m##tileM##n##tileN, MatmulMmaParams, threads, minBlocks,                          \
            matmul_mma<MmaConfig<type, tileM, tileN, true>>)                                                    \
  VD_KERNEL(linear_mma_##name##_m##tileM##n##tileN##_scalar, MatmulMmaParams, threads, minBlocks,                 \
            matmul_mma<MmaConfig<type, tileM, tileN, false>>)

VD_MMA(__half, f16, 128, 128, 256, 1)
VD_MMA(__half, f16, 64, 64, 128, 2)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_MMA(__nv_bfloat16, bf16, 128, 128, 256, 1)
VD_MMA(__nv_bfloat16, bf16, 64, 64, 128, 2)

#define VD_TF32(products, tileM, tileN, threads, minBlocks, minBlocksScalar)                                   \
  VD_KERNEL(linear_tf32x##products##_m##tileM##n##tileN, MatmulMmaParams, threads, minBlocks,                    \
            matmul_tf32<Tf32Config<tileM, tileN, true, products == 2>>)                                        \
  VD_KERNEL(linear_tf32x##products##_m##tileM##n##tileN##_scalar, MatmulMmaParams, threads, minBlocksScalar,     \
            matmul_tf32<Tf32Config<tileM, tileN, false, products == 2>>)
VD_TF32(3, 128, 128, 256, 2, 1)
VD_TF32(3, 64, 64, 128, 3, 3)
VD_TF32(2, 128, 128, 256, 2, 1)
VD_TF32(2, 64, 64, 128, 3, 3)
#endif
VD_KERNEL(linear_plain_f32, MatmulMmaParams, 256, 2, matmul_plain<float>)
VD_KERNEL(linear_plain_f16, MatmulMmaParams, 256, 2, matmul_plain<__half>)
VD_KERNEL(linear_plain_bf16, MatmulMmaParams, 256, 2, matmul_plain<__nv_bfloat16>)
VD_KERNEL(linear_pack, PackParams, 256, 2, pack_weights)
