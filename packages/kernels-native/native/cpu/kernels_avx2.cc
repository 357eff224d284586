// The kernel table for AVX2, FMA and F16C. The build gives files with this suffix the instruction set's flags. Nothing here
// may instantiate a shared inline function, or the linker could hand its code to processors without the set.
#include "kernels.h"
#include "simd/vec_avx2.h"

namespace vd::cpu {
namespace avx2 {

#include "simd/math.inl"

#include "simd/gemm.inl"

#include "simd/epilogue.inl"

#include "simd/winograd.inl"

#include "simd/norms.inl"

#include "simd/pointwise.inl"

#include "simd/attention.inl"

#include "simd/normals.inl"

}  // namespace avx2

const Kernels kKernelsAvx2 = {
    .width = avx2::Vec::kWidth,
    .maxVecs = avx2::Vec::kMaxVecs,
    .gemm_tile = avx2::gemm_tile,
    .store_tile = avx2::store_tile,
    .winograd_input = avx2::winograd_input,
    .winograd_output = avx2::winograd_output,
    .softmax_rows = avx2::softmax_rows,
    .transpose = avx2::transpose,
    .accumulate = avx2::accumulate,
    .channel_sums = avx2::channel_sums,
    .scale_channels = avx2::scale_channels,
    .layer_norm_rows = avx2::layer_norm_rows,
    .pointwise = avx2::pointwise,
    .box_muller = avx2::box_muller,
};

}  // namespace vd::cpu
