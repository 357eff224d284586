// The SIMD matrix kernel and its epilogue.
#include "kernels.h"

#include "simd/dots.h"
#include "simd/epilogue.h"
#include "simd/gemm.h"

namespace vd::cpu::VD_ISA {

const Kernels kernels = {
    .width = Vec::kWidth,
    .maxVecs = Vec::kMaxVecs,
    .gemm_tile = gemm_tile,
    .dot_tile = dot_tile,
    .store_tile = store_tile,
};

}  // namespace vd::cpu::VD_ISA
