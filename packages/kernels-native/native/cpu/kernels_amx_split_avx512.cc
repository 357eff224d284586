// The AMX engine's data movement: splitting activations, packing rows as columns or steps, gathering.
#include <immintrin.h>

#include "simd/amx_split.h"
#include "simd/vec_avx512.h"

// GCC 12 reports its own intrinsics' "undefined" operands (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace vd::cpu::amx {
namespace {

/** Floats between what is split and what is fetched meanwhile: 27 ms against 32 for a (3,1,1) convolution of 59 MB. */
constexpr int64_t kAhead = 512;

}  // namespace

void split(const Split& s) {
  const int64_t whole = s.channels / kStep * kStep;
  const int64_t left = s.channels - whole;
  const __mmask16 lowMask = first_lanes(left), highMask = first_lanes(left - 16);
  for (int64_t p = 0; p < s.numPixels; ++p) {
    const float* in = s.in + p * s.inPitch;
    std::byte* out = s.out + p * s.outPitch;
    for (int64_t c = 0; c < whole; c += kStep, out += kStepBytes) {
      _mm_prefetch(reinterpret_cast<const char*>(in + c + kAhead), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(in + c + kAhead + 16), _MM_HINT_T0);
      split_step(_mm512_loadu_ps(in + c), _mm512_loadu_ps(in + c + 16), out, s.partBytes);
    }
    if (left > 0) {
      split_step(_mm512_maskz_loadu_ps(lowMask, in + whole), _mm512_maskz_loadu_ps(highMask, in + whole + 16), out,
                 s.partBytes);
    }
  }
}

void pack_columns(const PackRows& p) {
  for (int64_t c = 0; c < p.channels; c += kStep) {
    avx512::Vec parts[kParts][kSide];
    const __mmask16 lowMask = first_lanes(p.channels - c), highMask = first_lanes(p.channels - c - 16);
    for (int64_t r = 0; r < kSide; ++r) {
      const float* in = p.in + r * p.inPitch + c;
      __m512 low = _mm512_maskz_loadu_ps(r < p.rows ? lowMask : 0, in);
      __m512 high = _mm512_maskz_loadu_ps(r < p.rows ? highMask : 0, in + 16);
      for (int part = 0; part < kParts; ++part) parts[part][r].v = _mm512_castsi512_ps(take_part(low, high));
    }
    std::byte* out = p.out + c / kStep * p.stepBytes;
    for (int part = 0; part < kParts; ++part, out += p.partBytes) {
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
      split_step(low, high, out, p.partBytes);
    }
  }
}

void expand_f16(const std::byte* in, int64_t steps, int colTiles, std::byte* out) {
  const int64_t partBytes = colTiles * kTileBytes;
  for (int64_t s = 0; s < steps; ++s, out += partBytes) {
    for (int64_t r = 0; r < colTiles * kSide; ++r, in += kStepBytes, out += kStepBytes) {
      const __m512i pairs = _mm512_loadu_si512(in);
      __m512 low = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs));
      __m512 high = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16)));
      _mm512_storeu_si512(out, take_part(low, high));
      _mm512_storeu_si512(out + partBytes, take_part(low, high));
    }
  }
}

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
