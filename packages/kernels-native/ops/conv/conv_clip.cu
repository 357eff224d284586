// conv with frames in front of x or repeated at its borders, and one phase of a transposed convolution: the portable cores, which
// find a tap's pixel by clip_source (device/matmul_mma.cuh). Kernels apart from conv's, which need none of that.
// Symbols: those of conv.cu with conv_clip for conv, but no conv_clip_narrow.
#include "../../device/matmul_few.cuh"
#include "../../device/matmul_variants.cuh"

using namespace vd::device;

VD_MATMUL_PRODUCTS(conv_clip, false, true)
VD_KERNEL(conv_clip_few_f32, MatmulMmaParams, 256, 4, matmul_few<float, true>)
VD_KERNEL(conv_clip_few_f16, MatmulMmaParams, 256, 4, matmul_few<__half, true>)
VD_KERNEL(conv_clip_few_bf16, MatmulMmaParams, 256, 4, matmul_few<__nv_bfloat16, true>)
