// conv's moments: device/channel_moments.cuh. Symbols: conv_moments_partial_<dtype>, conv_moments_merge.
#include "../../device/channel_moments.cuh"

using namespace vd::device;

VD_MOMENTS_KERNELS(conv)
