// linear_q8 on Hopper, i8 to f16 (linear_q8_sm90.cuh).
#include "linear_q8_sm90.cuh"

using namespace vd::device;

VD_LINEAR_Q8_SUMS(int8_t, i8, __half, f16)
