// conv with frames in front of x or repeated at its borders, and one phase of a transposed convolution: the portable cores, which
// find a tap's pixel by clip_source (device/matmul_mma.cuh). Kernels apart from conv's, which need none of that.
// Symbols: those of conv.cu with conv_clip for conv.
#include "../../device/matmul_variants.cuh"

using namespace vd::device;

VD_MATMUL_PRODUCTS(conv_clip, false, true)
