// Packing of keys as columns and of values as steps for the AMX engine.
#include "../../../native/cpu/simd/amx_split.h"
#include "../../../native/cpu/simd/isa.h"

#include "attention_amx_kernels.h"

namespace vd::cpu::amx {

void pack_columns(const PackRows& p) {
  for (int64_t c = 0; c < p.channels; c += kStep) {
    avx512::Vec parts[kParts][kSide];
    const __mmask16 lowMask = first_lanes(p.channels - c), highMask = first_lanes(p.channels - c - 16);
    for (int64_t r = 0; r < kSide; ++r) {
      const float* in = p.in + r * p.inPitch + c;
      __m512 low = _mm512_maskz_loadu_ps(r < p.rows ? lowMask : 0, in);
      __m512 high = _mm512_maskz_loadu_ps(r < p.rows ? highMask : 0, in + 16);
      for (int part = 0; part < p.parts; ++part) parts[part][r].v = _mm512_castsi512_ps(take_part(low, high));
    }
    std::byte* out = p.out + c / kStep * p.stepBytes;
    for (int part = 0; part < p.parts; ++part, out += p.partBytes) {
      // From one row per key to one row per pair of channels.
      avx512::transpose_block(parts[part]);
      for (int64_t r = 0; r < kSide; ++r) _mm512_storeu_ps(out + r * kStepBytes, parts[part][r].v);
    }
  }
}

void pack_step(const PackRows& p) {
  for (int64_t c = 0; c < p.channels; c += kSide) {
    const __mmask16 mask = first_lanes(p.channels - c);
    std::byte* out = p.out + c / kSide * kTileBytes;
    for (int64_t r = 0; r < kSide; ++r, out += kStepBytes) {
      const __m512 low = _mm512_maskz_loadu_ps(r < p.rows ? mask : 0, p.in + r * p.inPitch + c);
      const __m512 high = _mm512_maskz_loadu_ps(r + kSide < p.rows ? mask : 0, p.in + (r + kSide) * p.inPitch + c);
      split_step(low, high, out, p.partBytes, p.parts);
    }
  }
}

}  // namespace vd::cpu::amx
