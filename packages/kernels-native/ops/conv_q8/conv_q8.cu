// conv_q8 on every architecture: tensor cores through mma.sync and plain float32 (device/matmul_mma_scaled.cuh), and the packing of
// filters; the moments of results. Symbols: conv_q8_mma_<type>_<tile>, conv_q8_plain_<type>, conv_q8_pack, conv_q8_pack_codes,
// conv_q8_moments_partial_<dtype>, conv_q8_moments_merge.
#include "../../device/channel_moments.cuh"
#include "../../device/matmul_mma_scaled.cuh"
#include "../../device/pack.cuh"

using namespace vd::device;

VD_SCALED_PRODUCTS(conv_q8, false)
VD_KERNEL(conv_q8_pack, PackParams, 256, 2, pack_weights)
VD_KERNEL(conv_q8_pack_codes, PackParams, 256, 2, pack_codes)
VD_MOMENTS_KERNELS(conv_q8)
