#include "conv_gather_avx512.h"

#include "../../../native/cpu/simd/amx_split.h"
#include "../../../native/cpu/simd/isa.h"

namespace vd::cpu::amx {

void copy(float* out, const float* in, int64_t n) {
  for (; n > 16; n -= 16, in += 16, out += 16) _mm512_storeu_ps(out, _mm512_loadu_ps(in));
  const __mmask16 mask = first_lanes(n);
  _mm512_mask_storeu_ps(out, mask, _mm512_maskz_loadu_ps(mask, in));
}

void gather(const float* start, const int64_t* offsets, const int64_t* lengths, int64_t runs, float* out) {
  for (int64_t i = 0; i < runs; ++i) {
    copy(out, start + offsets[i], lengths[i]);
    out += lengths[i];
  }
}

}  // namespace vd::cpu::amx
