// linear with swiglu on every architecture: as linear.cu, with silu in the place of gelu. Rows without swiglu never come here.
// Symbols (device/matmul_variants.cuh): linear_swiglu_mma_<dtype>_<tile>[_scalar], linear_swiglu_tf32x3_<tile>[_scalar],
// linear_swiglu_tf32x2_<tile>[_scalar], linear_swiglu_plain_<dtype>.
#include "../../device/matmul_variants.cuh"

using namespace vd::device;

VD_MATMUL_PRODUCTS(linear_swiglu, true, false)
