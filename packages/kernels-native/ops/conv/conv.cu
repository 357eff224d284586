// conv on every architecture: tensor cores through mma.sync (device/matmul_mma.cuh), plain float32 for float32 and for
// bfloat16 before sm_80, and the packing of weights.
// Symbols: conv_mma_<dtype>_<tile>[_scalar], conv_plain_<dtype>, conv_few_<dtype>, conv_pack.
#include "../../device/matmul_few.cuh"
#include "../../device/matmul_mma.cuh"
#include "../../device/pack.cuh"

using namespace vd::device;

#define VD_MMA(type, name, tileM, tileN, threads, minBlocks)                                                    \
  VD_KERNEL(conv_mma_##name##_m##tileM##n##tileN, MatmulMmaParams, threads, minBlocks,                          \
            matmul_mma<MmaConfig<type, tileM, tileN, true>>)                                                    \
  VD_KERNEL(conv_mma_##name##_m##tileM##n##tileN##_scalar, MatmulMmaParams, threads, minBlocks,                 \
            matmul_mma<MmaConfig<type, tileM, tileN, false>>)

VD_MMA(__half, f16, 128, 128, 256, 1)
VD_MMA(__half, f16, 64, 64, 128, 2)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_MMA(__nv_bfloat16, bf16, 128, 128, 256, 1)
VD_MMA(__nv_bfloat16, bf16, 64, 64, 128, 2)
#endif
VD_KERNEL(conv_plain_f32, MatmulMmaParams, 256, 2, matmul_plain<float>)
VD_KERNEL(conv_plain_f16, MatmulMmaParams, 256, 2, matmul_plain<__half>)
VD_KERNEL(conv_plain_bf16, MatmulMmaParams, 256, 2, matmul_plain<__nv_bfloat16>)
VD_KERNEL(conv_few_f32, MatmulMmaParams, 256, 4, matmul_few<float>)
VD_KERNEL(conv_few_f16, MatmulMmaParams, 256, 4, matmul_few<__half>)
VD_KERNEL(conv_few_bf16, MatmulMmaParams, 256, 4, matmul_few<__nv_bfloat16>)
VD_KERNEL(conv_pack, PackParams, 256, 2, pack_weights)
