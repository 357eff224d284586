// linear_q8 on Hopper, i8 to f16 (linear_q8_sm90.cuh).
#include "linear_q8_sm90.cuh"

using namespace vd::device;

VD_LINEAR_Q8_SMALL(int8_t, i8, __half, f16)
VD_LINEAR_Q8_PROMOTED(int8_t, i8, __half, f16)
VD_LINEAR_Q8_SPLIT_SUMS(int8_t, i8, __half, f16)
VD_LINEAR_Q8_SPLIT(int8_t, i8, __half, f16, 28, m128n128b)
VD_LINEAR_Q8_CODES(int8_t, i8, __half, f16)
