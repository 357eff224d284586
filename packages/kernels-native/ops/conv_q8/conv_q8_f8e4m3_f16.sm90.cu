// conv_q8 on Hopper, f8e4m3 to f16 (conv_q8_sm90.cuh).
#include "conv_q8_sm90.cuh"

using namespace vd::device;

VD_CONV_Q8_SMALL(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_CONV_Q8_PROMOTED(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_CONV_Q8_SUMS(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_CONV_Q8_SMALL_PROMOTED(__nv_fp8_e4m3, f8e4m3, __half, f16)
VD_CONV_Q8_SPLIT_PROMOTED(__nv_fp8_e4m3, f8e4m3, __half, f16)
