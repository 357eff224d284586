// Splitting floats into bfloat16 parts in registers, for the AVX-512 files of the AMX engine. Everything here has internal
// linkage: no other file may get this code from the linker.
#pragma once
#include <immintrin.h>

#include "../amx_kernels.h"

namespace vd::cpu::amx {
namespace {

/** The 16 upper bits of 32 floats, rounded to nearest (halves away from zero), the second 16 in the odd places. `low` and
 *  `high` become what is left, exactly. */
[[maybe_unused]] inline __m512i take_part(__m512& low, __m512& high) {
  const __m512i half = _mm512_set1_epi32(0x8000);
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  const __m512i a = _mm512_add_epi32(_mm512_castps_si512(low), half);
  const __m512i b = _mm512_add_epi32(_mm512_castps_si512(high), half);
  low = _mm512_sub_ps(low, _mm512_castsi512_ps(_mm512_and_si512(a, mask)));
  high = _mm512_sub_ps(high, _mm512_castsi512_ps(_mm512_and_si512(b, mask)));
  // (b & mask) | (a >> 16): a ? b : c with the mask as selector.
  return _mm512_ternarylogic_epi32(mask, b, _mm512_srli_epi32(a, 16), 0xca);
}

/** Mask of the first n lanes, all or none of them beyond the ends. */
[[maybe_unused]] inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1u);
}

[[maybe_unused]] inline void split_step(__m512 low, __m512 high, std::byte* out, int64_t partBytes, int parts) {
  _mm512_storeu_si512(out, take_part(low, high));
  if (parts > 1) _mm512_storeu_si512(out + partBytes, take_part(low, high));
  if (parts > 2) _mm512_storeu_si512(out + 2 * partBytes, take_part(low, high));
}

}  // namespace
}  // namespace vd::cpu::amx
