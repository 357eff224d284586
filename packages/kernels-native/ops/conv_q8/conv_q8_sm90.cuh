// The tiles of conv_q8 on Hopper for one type of operands: implicit GEMM on the matrix core of device/matmul_sm90.cuh with scales.
// Symbols: conv_q8_sm90_<type>_<dtype>_<tile>[_moments]; dtype: of the result.
#pragma once
#include "../../device/matmul_sm90.cuh"
#include "../../device/matmul_sm90_split.cuh"

#define VD_CONV_Q8(q, qName, type, name, tile, tileName)                                     \
  VD_KERNEL(conv_q8_sm90_##qName##_##name##_##tileName, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, false, false, false, false, q>>)

/** The same that leaves the moments of its results. */
#define VD_CONV_Q8_MOMENTS(q, qName, type, name, tile, tileName)                                       \
  VD_KERNEL(conv_q8_sm90_##qName##_##name##_##tileName##_moments, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90<MatmulConfig<type, tile, false, false, false, false, q, true>>)

/** Small tiles. */
#define VD_CONV_Q8_SMALL(q, qName, type, name)  \
  VD_CONV_Q8(q, qName, type, name, 4, m128n128) \
  VD_CONV_Q8(q, qName, type, name, 5, m128n64)  \
  VD_CONV_Q8(q, qName, type, name, 6, m256n32)

/** Tiles that promote sums. */
#define VD_CONV_Q8_PROMOTED(q, qName, type, name)         \
  VD_CONV_Q8(q, qName, type, name, 13, m128n192p)         \
  VD_CONV_Q8(q, qName, type, name, 14, m256n128p)         \
  VD_CONV_Q8(q, qName, type, name, 15, m128n256p)         \
  VD_CONV_Q8(q, qName, type, name, 16, m128n160p)         \
  VD_CONV_Q8(q, qName, type, name, 33, m128n128psp)       \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 13, m128n192p) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 14, m256n128p) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 15, m128n256p) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 16, m128n160p)

/** Wide tiles of integers. */
#define VD_CONV_Q8_WIDE_INTEGERS(q, qName, type, name)     \
  VD_CONV_Q8(q, qName, type, name, 31, m128n256pw)         \
  VD_CONV_Q8(q, qName, type, name, 32, m256n128pw)         \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 31, m128n256pw) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 32, m256n128pw)

/** Tiles of one sum, of short float8 products, and wide ones, which fold long ones. */
#define VD_CONV_Q8_SUMS(q, qName, type, name)             \
  VD_CONV_Q8(q, qName, type, name, 0, m128n256)           \
  VD_CONV_Q8(q, qName, type, name, 1, m256n160)           \
  VD_CONV_Q8(q, qName, type, name, 2, m128n128pp)         \
  VD_CONV_Q8(q, qName, type, name, 3, m128n160pp)         \
  VD_CONV_Q8(q, qName, type, name, 7, m128n128ps)         \
  VD_CONV_Q8(q, qName, type, name, 8, m128n160ps)         \
  VD_CONV_Q8(q, qName, type, name, 30, m128n256w)         \
  VD_CONV_Q8(q, qName, type, name, 35, m256n128w)         \
  VD_CONV_Q8(q, qName, type, name, 50, m128n160w)         \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 30, m128n256w) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 35, m256n128w) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 50, m128n160w) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 7, m128n128ps) \
  VD_CONV_Q8_MOMENTS(q, qName, type, name, 8, m128n160ps)

/** Small tiles that promote float8 sums. */
#define VD_CONV_Q8_SMALL_PROMOTED(q, qName, type, name) \
  VD_CONV_Q8(q, qName, type, name, 17, m128n128p)       \
  VD_CONV_Q8(q, qName, type, name, 18, m256n32p)        \
  VD_CONV_Q8(q, qName, type, name, 29, m128n64p)

#define VD_CONV_Q8_SPLIT(q, qName, type, name, tile, tileName)                                     \
  VD_KERNEL(conv_q8_sm90_##qName##_##name##_split_##tileName, MatmulSm90Params, kMatmulThreads, 1, \
            matmul_sm90_split<MatmulConfig<type, tile, false, false, false, false, q>>)

/** Tiles that blocks of a cluster share, of integers. */
#define VD_CONV_Q8_SPLIT_SUMS(q, qName, type, name)    \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 20, m128n64)  \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 21, m128n128) \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 22, m128n160) \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 23, m128n256)

/** The same of float8, whose sums are promoted. */
#define VD_CONV_Q8_SPLIT_PROMOTED(q, qName, type, name) \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 24, m128n64p)  \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 25, m128n128p) \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 26, m128n160p) \
  VD_CONV_Q8_SPLIT(q, qName, type, name, 27, m128n256p)
