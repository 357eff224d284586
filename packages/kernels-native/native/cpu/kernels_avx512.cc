// The kernel table for AVX-512 F, BW, DQ and VL. The build gives files with this suffix the instruction set's flags. Nothing here
// may instantiate a shared inline function, or the linker could hand its code to processors without the set.
#include "kernels.h"

// GCC 12 reports its own intrinsics' "undefined" operands (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include "simd/vec_avx512.h"

namespace vd::cpu {
namespace avx512 {

#include "simd/math.inl"

#include "simd/gemm.inl"

#include "simd/epilogue.inl"

#include "simd/winograd.inl"

#include "simd/norms.inl"

#include "simd/pointwise.inl"

#include "simd/attention.inl"

#include "simd/normals.inl"

}  // namespace avx512

const Kernels kKernelsAvx512 = {
    .width = avx512::Vec::kWidth,
    .maxVecs = avx512::Vec::kMaxVecs,
    .gemm_tile = avx512::gemm_tile,
    .store_tile = avx512::store_tile,
    .winograd_input = avx512::winograd_input,
    .winograd_output = avx512::winograd_output,
    .softmax_rows = avx512::softmax_rows,
    .transpose = avx512::transpose,
    .accumulate = avx512::accumulate,
    .channel_sums = avx512::channel_sums,
    .scale_channels = avx512::scale_channels,
    .layer_norm_rows = avx512::layer_norm_rows,
    .pointwise = avx512::pointwise,
    .box_muller = avx512::box_muller,
};

}  // namespace vd::cpu
