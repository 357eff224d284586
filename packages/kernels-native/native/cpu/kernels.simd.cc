// The SIMD matrix kernel and its epilogue.
#include "kernels.h"

#include "simd/dots.h"
#include "simd/gemm_store.h"

namespace vd::cpu::VD_ISA {

const Kernels kernels = {
    .width = Vec::kWidth,
    .maxVecs = Vec::kMaxVecs,
    .gemm_tile = gemm_tile,
    .dot_tile = dot_tile,
    .store_tile = store_tile,
    .gemm_store = gemm_store,
};

}  // namespace vd::cpu::VD_ISA
