// The kernels of conv and linear on the portable matrix cores: one table for both, as their parameters and plans are the same.
//
// VD_MATMUL_KERNELS(op) defines, for every type that the architecture multiplies:
//   op_mma_<dtype>_<tile>[_scalar]   mma.sync, 16-bit types; scalar: channels or addresses that 16 bytes do not suit
//   op_tf32x3_<tile>[_scalar]        float32 on tensor cores from sm_80 on, in three products
//   op_tf32x2_<tile>[_scalar]        in two, for weights of 16 bits
//   op_plain_<dtype>, op_pack        float32 products for whatever is left; the packing of weights
#pragma once
#include "matmul_mma.cuh"
#include "matmul_tf32.cuh"
#include "pack.cuh"

/** Tiles of tileM pixels by tileN columns of a 16-bit type, with 16-byte loads and without. */
#define VD_MATMUL_MMA(op, swiglu, clip, type, name, tileM, tileN, threads, minBlocks)           \
  VD_KERNEL(op##_mma_##name##_m##tileM##n##tileN, MatmulMmaParams, threads, minBlocks,          \
            matmul_mma<MmaConfig<type, tileM, tileN, true, swiglu, clip>>)                      \
  VD_KERNEL(op##_mma_##name##_m##tileM##n##tileN##_scalar, MatmulMmaParams, threads, minBlocks, \
            matmul_mma<MmaConfig<type, tileM, tileN, false, swiglu, clip>>)

/** Tiles of float32 in `products` tf32 products. */
#define VD_MATMUL_TF32(op, swiglu, clip, products, tileM, tileN, threads, minBlocks, minBlocksScalar)      \
  VD_KERNEL(op##_tf32x##products##_m##tileM##n##tileN, MatmulMmaParams, threads, minBlocks,                \
            matmul_tf32<Tf32Config<tileM, tileN, true, products == 2, swiglu, clip>>)                      \
  VD_KERNEL(op##_tf32x##products##_m##tileM##n##tileN##_scalar, MatmulMmaParams, threads, minBlocksScalar, \
            matmul_tf32<Tf32Config<tileM, tileN, false, products == 2, swiglu, clip>>)

/** What tensor cores do from sm_80 on. */
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
#define VD_MATMUL_SM80(op, swiglu, clip)                                 \
  VD_MATMUL_MMA(op, swiglu, clip, __nv_bfloat16, bf16, 128, 128, 256, 1) \
  VD_MATMUL_MMA(op, swiglu, clip, __nv_bfloat16, bf16, 64, 64, 128, 2)   \
  VD_MATMUL_TF32(op, swiglu, clip, 3, 128, 128, 256, 2, 1)               \
  VD_MATMUL_TF32(op, swiglu, clip, 3, 64, 64, 128, 3, 3)                 \
  VD_MATMUL_TF32(op, swiglu, clip, 2, 128, 128, 256, 2, 1)               \
  VD_MATMUL_TF32(op, swiglu, clip, 2, 64, 64, 128, 3, 3)
#else
#define VD_MATMUL_SM80(op, swiglu, clip)
#endif

/** Every product of `op`; swiglu: whether a gated activation is that, not geglu; clip: as in MmaConfig. */
#define VD_MATMUL_PRODUCTS(op, swiglu, clip)                                             \
  VD_MATMUL_MMA(op, swiglu, clip, __half, f16, 128, 128, 256, 1)                         \
  VD_MATMUL_MMA(op, swiglu, clip, __half, f16, 64, 64, 128, 2)                           \
  VD_MATMUL_SM80(op, swiglu, clip)                                                       \
  VD_KERNEL(op##_plain_f32, MatmulMmaParams, 256, 2, matmul_plain<float, swiglu, clip>)  \
  VD_KERNEL(op##_plain_f16, MatmulMmaParams, 256, 2, matmul_plain<__half, swiglu, clip>) \
  VD_KERNEL(op##_plain_bf16, MatmulMmaParams, 256, 2, matmul_plain<__nv_bfloat16, swiglu, clip>)

/** Every kernel of `op` on the portable matrix cores; the file says `using namespace vd::device` before. */
#define VD_MATMUL_KERNELS(op)          \
  VD_MATMUL_PRODUCTS(op, false, false) \
  VD_KERNEL(op##_pack, PackParams, 256, 2, pack_weights)
