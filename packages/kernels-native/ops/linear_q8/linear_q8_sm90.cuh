// The tiles of linear_q8 on Hopper for one type of operands: the matrix core of device/matmul_sm90.cuh with one tap and scales.
// Symbols: linear_q8_sm90_<type>_<dtype>_<tile>[_geglu|_swiglu]; dtype: of the result.
#pragma once
#include "../../device/matmul_sm90.cuh"
#include "../../device/matmul_sm90_split.cuh"

#define VD_LINEAR_Q8(q, qName, type, name, tile, tileName)                                     \
  VD_KERNEL(linear_q8_sm90_##qName##_##name##_##tileName, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, false, true, false, false, q>>)
#define VD_LINEAR_Q8_GATED(q, qName, type, name, tile, tileName)                                        \
  VD_KERNEL(linear_q8_sm90_##qName##_##name##_##tileName##_geglu, MatmulSm90Params, kMatmulThreads, 1,  \
            matmul_sm90<MatmulConfig<type, tile, true, true, false, false, q>>)                         \
  VD_KERNEL(linear_q8_sm90_##qName##_##name##_##tileName##_swiglu, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, true, true, true, false, q>>)

/** Small tiles. */
#define VD_LINEAR_Q8_SMALL(q, qName, type, name)    \
  VD_LINEAR_Q8(q, qName, type, name, 4, m128n128)   \
  VD_LINEAR_Q8(q, qName, type, name, 5, m128n64)    \
  VD_LINEAR_Q8(q, qName, type, name, 6, m256n32)    \
  VD_LINEAR_Q8(q, qName, type, name, 19, m128n128b) \
  VD_LINEAR_Q8_GATED(q, qName, type, name, 5, m128n64)

/** Tiles that promote sums. */
#define VD_LINEAR_Q8_PROMOTED(q, qName, type, name)   \
  VD_LINEAR_Q8(q, qName, type, name, 13, m128n192p)   \
  VD_LINEAR_Q8(q, qName, type, name, 14, m256n128p)   \
  VD_LINEAR_Q8(q, qName, type, name, 15, m128n256p)   \
  VD_LINEAR_Q8(q, qName, type, name, 16, m128n160p)   \
  VD_LINEAR_Q8(q, qName, type, name, 33, m128n128psp) \
  VD_LINEAR_Q8_GATED(q, qName, type, name, 14, m256n128p)

/** Tiles of one sum, of short float8 products, and wide ones, which fold long ones. */
#define VD_LINEAR_Q8_SUMS(q, qName, type, name)         \
  VD_LINEAR_Q8(q, qName, type, name, 0, m128n256)       \
  VD_LINEAR_Q8(q, qName, type, name, 1, m256n160)       \
  VD_LINEAR_Q8(q, qName, type, name, 2, m128n128pp)     \
  VD_LINEAR_Q8(q, qName, type, name, 3, m128n160pp)     \
  VD_LINEAR_Q8(q, qName, type, name, 7, m128n128ps)     \
  VD_LINEAR_Q8(q, qName, type, name, 8, m128n160ps)     \
  VD_LINEAR_Q8(q, qName, type, name, 30, m128n256w)     \
  VD_LINEAR_Q8(q, qName, type, name, 35, m256n128w)     \
  VD_LINEAR_Q8(q, qName, type, name, 50, m128n160w)     \
  VD_LINEAR_Q8_GATED(q, qName, type, name, 0, m128n256) \
  VD_LINEAR_Q8_GATED(q, qName, type, name, 2, m128n128pp)

/** The tile whose results are codes. */
#define VD_LINEAR_Q8_CODES(q, qName, type, name)     \
  VD_LINEAR_Q8(q, qName, type, name, 34, m128n128pc) \
  VD_LINEAR_Q8_GATED(q, qName, type, name, 34, m128n128pc)

/** Small tiles that promote float8 sums. */
#define VD_LINEAR_Q8_SMALL_PROMOTED(q, qName, type, name) \
  VD_LINEAR_Q8(q, qName, type, name, 17, m128n128p)       \
  VD_LINEAR_Q8(q, qName, type, name, 18, m256n32p)        \
  VD_LINEAR_Q8(q, qName, type, name, 29, m128n64p)

#define VD_LINEAR_Q8_SPLIT(q, qName, type, name, tile, tileName)                                     \
  VD_KERNEL(linear_q8_sm90_##qName##_##name##_split_##tileName, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90_split<MatmulConfig<type, tile, false, true, false, false, q>>)

/** Tiles that blocks of a cluster share, of integers. */
#define VD_LINEAR_Q8_SPLIT_SUMS(q, qName, type, name)    \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 20, m128n64)  \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 21, m128n128) \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 22, m128n160) \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 23, m128n256)

/** The same of float8, whose sums are promoted. */
#define VD_LINEAR_Q8_SPLIT_PROMOTED(q, qName, type, name) \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 24, m128n64p)  \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 25, m128n128p) \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 26, m128n160p) \
  VD_LINEAR_Q8_SPLIT(q, qName, type, name, 27, m128n256p)
