// linear_q8 on every architecture: tensor cores through mma.sync and plain float32 (device/matmul_mma_scaled.cuh), and the packing of
// weights and scales. Symbols: linear_q8_mma_<type>_<tile>[_blocks], linear_q8_plain_<type>, linear_q8_pack, linear_q8_pack_codes.
#include "../../device/matmul_mma_scaled.cuh"
#include "../../device/pack.cuh"

using namespace vd::device;

VD_SCALED_PRODUCTS(linear_q8, false)
VD_KERNEL(linear_q8_pack, PackParams, 256, 2, pack_weights)
VD_KERNEL(linear_q8_pack_codes, PackParams, 256, 2, pack_codes)
