// conv_q8 on Hopper, i8 to bf16 (conv_q8_sm90.cuh).
#include "conv_q8_sm90.cuh"

using namespace vd::device;

VD_CONV_Q8_SMALL(int8_t, i8, __nv_bfloat16, bf16)
VD_CONV_Q8_PROMOTED(int8_t, i8, __nv_bfloat16, bf16)
VD_CONV_Q8_WIDE_INTEGERS(int8_t, i8, __nv_bfloat16, bf16)
VD_CONV_Q8_SPLIT_SUMS(int8_t, i8, __nv_bfloat16, bf16)
