// linear on Hopper: y[m, n] = tail(sum_c [x | x2][m, c] · weight[n, c]), the matrix core of device/matmul_sm90.cuh with one
// tap. Symbols: linear_sm90_<dtype>_<tile>[_geglu].
//
// Log (H200, f16, us, best tile): v4 of the core, v5 staged, v6 as there, with rows and halves
//   m460800 k320 n320 226, 204, 198 (with residual 334, 265, 254); n960 617, 566, 541; n2560 1645, 1398, 1307; geglu 1690,
//   1784 (power), 1420; k1280 n320 718, 671, 640; m115200 k640 n5120 geglu 1310, 1486, 1182; k2560 n640 612, 584;
//   m28800 k1280 n10240 geglu 1163, 1368, 1067; k5120 n1280 551, 580. Inputs are random from v5 on.
#include "../../device/matmul_sm90.cuh"
#include "../../device/matmul_sm90_halves.cuh"
#include "../../device/matmul_sm90_rows.cuh"

using namespace vd::device;

#define VD_LINEAR(type, name, tile, tileName)                                                                       \
  VD_KERNEL(linear_sm90_##name##_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<type, tile, false, true>>)
#define VD_LINEAR_GEGLU(type, name, tile, tileName)                                                                 \
  VD_KERNEL(linear_sm90_##name##_##tileName##_geglu, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<type, tile, true, true>>)
#define VD_LINEAR_ROWS(type, name)                                                                                       \
  VD_KERNEL(linear_sm90_##name##_r128n128_geglu, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90_rows<RowsConfig<type, 10, true>>) \
  VD_KERNEL(linear_sm90_##name##_r128n160, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90_rows<RowsConfig<type, 11, false>>) \
  VD_KERNEL(linear_sm90_##name##_h128n256_geglu, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90_halves<HalvesConfig<type, 12, 2>>)
#define VD_LINEAR_ALL(type, name) \
  VD_LINEAR_ROWS(type, name) \
  VD_LINEAR(type, name, 0, m128n256) \
  VD_LINEAR(type, name, 1, m256n160) \
  VD_LINEAR(type, name, 2, m128n128pp) \
  VD_LINEAR(type, name, 3, m128n160pp) \
  VD_LINEAR(type, name, 4, m128n128) \
  VD_LINEAR(type, name, 5, m128n64) \
  VD_LINEAR(type, name, 6, m256n32) \
  VD_LINEAR(type, name, 7, m128n128ps) \
  VD_LINEAR(type, name, 8, m128n160ps) \
  VD_LINEAR_GEGLU(type, name, 0, m128n256) \
  VD_LINEAR_GEGLU(type, name, 2, m128n128pp) \
  VD_LINEAR_GEGLU(type, name, 5, m128n64) \
  VD_LINEAR_GEGLU(type, name, 7, m128n128ps) \
  VD_LINEAR_GEGLU(type, name, 9, m128n256s)

VD_LINEAR_ALL(__half, f16)
VD_LINEAR_ALL(__nv_bfloat16, bf16)
