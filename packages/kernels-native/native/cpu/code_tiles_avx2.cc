// The matrix kernel of integers for processors with AVX_VNNI, which adds four products a lane. Those with AVX-512 have it in
// another encoding.
#include "code_tiles.h"
#include "simd/code_gemm.h"

namespace vd::cpu {
namespace {

/** VPDPBUSD multiplies numbers without a sign by numbers with one: rows are 128 too large, which the offsets take out. Sums may wrap on the
 *  way; with the offset they are exact. */
struct VnniDots {
  using Sum = __m256i;
  using Col = __m256i;
  static constexpr int kColBytes = 4, kMaxVecs = 2;
  static constexpr bool kHasOffset = true;
  static Sum zero() { return _mm256_setzero_si256(); }
  static __m256i all(const std::byte* p) {
    int32_t group;
    __builtin_memcpy(&group, p, sizeof group);
    return _mm256_set1_epi32(group);
  }
  static Col load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Sum add(Sum sum, __m256i row, Col col) {
    // Not the compiler's function: that wants the whole file compiled for AVX_VNNI.
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(row), "x"(col));
    return sum;
  }
  static Sum offset(Sum sum, const std::byte* p) { return _mm256_add_epi32(sum, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static Sum join(Sum a, Sum b) { return _mm256_add_epi32(a, b); }
  static avx2::Vec floats(Sum sum) { return {_mm256_cvtepi32_ps(sum)}; }
};

}  // namespace

const CodeTiles kShortVnniTiles = {.name = "vnni256",
                                   .form = RowForm::biased,
                                   .group = 4,
                                   .colBytes = VnniDots::kColBytes,
                                   .hasOffset = true,
                                   .longest = 65536,
                                   .width = avx2::Vec::kWidth,
                                   .maxVecs = VnniDots::kMaxVecs,
                                   .tile = avx2::code_tile<VnniDots>};

}  // namespace vd::cpu
