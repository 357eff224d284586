// The kernel table for baseline x86-64 (SSE2). The build gives files with this suffix the instruction set's flags. Nothing here
// may instantiate a shared inline function, or the linker could hand its code to processors without the set.
#include "kernels.h"
#include "simd/vec_plain.h"

namespace vd::cpu {
namespace plain {

#include "simd/math.inl"

#include "simd/gemm.inl"

#include "simd/epilogue.inl"

#include "simd/winograd.inl"

#include "simd/norms.inl"

#include "simd/pointwise.inl"

#include "simd/attention.inl"

#include "simd/normals.inl"

}  // namespace plain

const Kernels kKernelsPlain = {
    .width = plain::Vec::kWidth,
    .maxVecs = plain::Vec::kMaxVecs,
    .gemm_tile = plain::gemm_tile,
    .store_tile = plain::store_tile,
    .winograd_input = plain::winograd_input,
    .winograd_output = plain::winograd_output,
    .softmax_rows = plain::softmax_rows,
    .transpose = plain::transpose,
    .accumulate = plain::accumulate,
    .channel_sums = plain::channel_sums,
    .scale_channels = plain::scale_channels,
    .layer_norm_rows = plain::layer_norm_rows,
    .pointwise = plain::pointwise,
    .box_muller = plain::box_muller,
};

}  // namespace vd::cpu
