// The matrix kernel of integers for processors with AVX512_VNNI, which adds four products a lane.
//
// Log: float8 as pairs of bf16 by VDPBF16PS ran at 89 GFLOP/s on a core of Emerald Rapids, as float32 at 130; integers here at 675.
#include "code_tiles.h"
#include "simd/code_gemm.h"

namespace vd::cpu {
namespace {

/** VPDPBUSD multiplies numbers without a sign by numbers with one: rows are 128 too large, which the offsets take out. Sums may wrap on the
 *  way; with the offset they are exact. */
struct VnniDots {
  using Sum = __m512i;
  using Col = __m512i;
  static constexpr int kColBytes = 4, kMaxVecs = 4;
  static constexpr bool kHasOffset = true;
  static Sum zero() { return _mm512_setzero_si512(); }
  static __m512i all(const std::byte* p) {
    int32_t group;
    __builtin_memcpy(&group, p, sizeof group);
    return _mm512_set1_epi32(group);
  }
  static Col load(const std::byte* p) { return _mm512_loadu_si512(p); }
  static Sum add(Sum sum, __m512i row, Col col) {
    // Not the compiler's function: that wants the whole file compiled for AVX512_VNNI.
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(row), "v"(col));
    return sum;
  }
  static Sum offset(Sum sum, const std::byte* p) { return _mm512_add_epi32(sum, _mm512_loadu_si512(p)); }
  static Sum join(Sum a, Sum b) { return _mm512_add_epi32(a, b); }
  static avx512::Vec floats(Sum sum) { return {_mm512_cvtepi32_ps(sum)}; }
};

}  // namespace

const CodeTiles kVnniTiles = {.name = "vnni",
                              .form = RowForm::biased,
                              .group = 4,
                              .colBytes = VnniDots::kColBytes,
                              .hasOffset = true,
                              .longest = 65536,
                              .width = avx512::Vec::kWidth,
                              .maxVecs = VnniDots::kMaxVecs,
                              .tile = avx512::code_tile<VnniDots>};

}  // namespace vd::cpu
