// conv on Hopper: implicit GEMM on the matrix core of device/matmul_sm90.cuh; A tiles are boxes of x shifted by the tap.
// Symbols: conv_sm90_<dtype>_<tile>.
//
// Log (H200, f16, TFLOP/s, best tile; % of the 742 ceiling), v4 of the core:
//   3x3 320 72x128: 730 (98 %); 640 36x64: 755; 1280 18x32: 731; VAE 128: 567 (76 %), 256: 722, 512: 704
//   (3,1,1) 320: 529 (71 %), 640: 645, 1280: 671; VAE 128: 5.42 ms, 2.1x its floor; stride 2: 685; nearest-2x 640: 727
//   conv_in (8 → 320) 409 us: a k-step of 64 channels is seven eighths zeros. conv_out (320 → 4) 426 us and (128 → 3)
//   7.1 ms: nine reads of x through L2 for 32 columns; device/conv_narrow.cuh takes those.
// v5 and v6 (staged, frames first): 3x3 320: 743, 640: 757, VAE 128: 576; (3,1,1) 320: 593, 640: 660, 1280: 642; VAE 128:
//   4.45 ms, 3.41 ms.
#include "../../device/matmul_sm90.cuh"

using namespace vd::device;

#define VD_CONV(type, name, tile, tileName) \
  VD_KERNEL(conv_sm90_##name##_##tileName, MatmulSm90Params, kMatmulThreads, 1, matmul_sm90<MatmulConfig<type, tile, false>>)
#define VD_CONV_ALL(type, name) \
  VD_CONV(type, name, 0, m128n256) \
  VD_CONV(type, name, 1, m256n160) \
  VD_CONV(type, name, 2, m128n128pp) \
  VD_CONV(type, name, 3, m128n160pp) \
  VD_CONV(type, name, 4, m128n128) \
  VD_CONV(type, name, 5, m128n64) \
  VD_CONV(type, name, 6, m256n32) \
  VD_CONV(type, name, 7, m128n128ps) \
  VD_CONV(type, name, 8, m128n160ps)

VD_CONV_ALL(__half, f16)
VD_CONV_ALL(__nv_bfloat16, bf16)
