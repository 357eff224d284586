// conv on every architecture: tensor cores through mma.sync (device/matmul_mma.cuh; float32 by
// device/matmul_tf32.cuh), plain float32 for float32 and bfloat16 before sm_80, few output channels, and the packing of weights.
// Symbols (device/matmul_variants.cuh): conv_mma_<dtype>_<tile>[_scalar], conv_tf32x3_<tile>[_scalar],
// conv_tf32x2_<tile>[_scalar] (weights of 16 bits), conv_plain_<dtype>, conv_pack; here conv_few_<dtype>,
// conv_narrow_<16-bit dtype>, conv_shallow_<16-bit dtype>.
#include "../../device/conv_narrow.cuh"
#include "../../device/conv_shallow.cuh"
#include "../../device/matmul_few.cuh"
#include "../../device/matmul_variants.cuh"

using namespace vd::device;

VD_MATMUL_KERNELS(conv)
VD_KERNEL(conv_narrow_f16, MatmulMmaParams, kNarrowThreads, kNarrowBlocks, conv_narrow<__half>)
VD_KERNEL_OVERLAPPED(conv_shallow_f16, MatmulMmaParams, kShallowThreads, 2, conv_shallow<ShallowConfig<__half>>)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_KERNEL_OVERLAPPED(conv_shallow_bf16, MatmulMmaParams, kShallowThreads, 2, conv_shallow<ShallowConfig<__nv_bfloat16>>)
VD_KERNEL(conv_narrow_bf16, MatmulMmaParams, kNarrowThreads, kNarrowBlocks, conv_narrow<__nv_bfloat16>)
#endif
VD_KERNEL(conv_few_f32, MatmulMmaParams, 256, 4, matmul_few<float>)
VD_KERNEL(conv_few_f16, MatmulMmaParams, 256, 4, matmul_few<__half>)
VD_KERNEL(conv_few_bf16, MatmulMmaParams, 256, 4, matmul_few<__nv_bfloat16>)
