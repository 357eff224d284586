// linear_q8 with swiglu on every architecture: as linear_q8.cu, with silu in the place of gelu.
// Symbols: linear_q8_swiglu_mma_<type>_<tile>[_blocks], linear_q8_swiglu_plain_<type>.
#include "../../device/matmul_mma_scaled.cuh"

using namespace vd::device;

VD_SCALED_PRODUCTS(linear_q8_swiglu, true)
