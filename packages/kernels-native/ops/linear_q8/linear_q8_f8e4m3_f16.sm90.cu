// linear_q8 on Hopper, f8e4m3 to f16 (linear_q8_sm90.cuh).
#include "linear_q8_sm90.cuh"

using namespace vd::device;

VD_LINEAR_Q8_SMALL(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_LINEAR_Q8_PROMOTED(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_LINEAR_Q8_SUMS(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_LINEAR_Q8_SMALL_PROMOTED(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_LINEAR_Q8_SPLIT_PROMOTED(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_LINEAR_Q8_SPLIT(__nv_fp8_e4m3, f8e4m3, __half, f16, 28, m128n128b)
VD_LINEAR_Q8_CODES(__nv_fp8_e4m3, f8e4m3, __half, f16)
