// The matrix kernels of 8-bit codes that need no more than their instruction set. x86-64 multiplies integers as pairs of 16 bits, whose
// products it adds without saturating; VPMADDUBSW of 8 bits would saturate.
#include "code_tiles.h"

#include "simd/code_gemm.h"

namespace vd::cpu::VD_ISA {
namespace {

/** Products that one sum of integers may have: 65536 of 128 · 128 at most. */
constexpr int64_t kLongestIntegers = 65536;
/** Products of float8 that one chain of float32 adds up. */
constexpr int64_t kLongestFloats = 640;

struct FloatDots {
  using Sum = Vec;
  using Col = Vec;
  static constexpr int kColBytes = 2, kMaxVecs = Vec::kMaxVecs;
  static constexpr bool kHasOffset = false;
  static Sum zero() { return Vec::zero(); }
  static Vec all(const std::byte* p) {
    float value;
    __builtin_memcpy(&value, p, sizeof value);
    return Vec::all(value);
  }
  static Col load(const std::byte* p) { return Vec::load_bf16(p); }
  static Sum add(Sum sum, Vec row, Col col) { return Vec::fma(row, col, sum); }
  static Sum join(Sum a, Sum b) { return a + b; }
  static Vec floats(Sum sum) { return sum; }
};

inline int32_t group_at(const std::byte* p) {
  int32_t group;
  __builtin_memcpy(&group, p, sizeof group);
  return group;
}

#if defined(__aarch64__)

/** Products of 8 bits are whole in 16, and are added up in pairs: a vector of four columns is two of halves of their sums. */
struct QuadDots {
  struct Sum {
    int32x4_t low, high;
  };
  using Col = int8x16_t;
  static constexpr int kColBytes = 4, kMaxVecs = 2;
  static constexpr bool kHasOffset = false;
  static Sum zero() { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static int8x16_t all(const std::byte* p) { return vreinterpretq_s8_s32(vdupq_n_s32(group_at(p))); }
  static Col load(const std::byte* p) { return vld1q_s8(reinterpret_cast<const int8_t*>(p)); }
  static Sum add(Sum sum, int8x16_t row, Col col) {
    return {vpadalq_s16(sum.low, vmull_s8(vget_low_s8(row), vget_low_s8(col))), vpadalq_s16(sum.high, vmull_high_s8(row, col))};
  }
  static Sum join(Sum a, Sum b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
  static Vec floats(Sum sum) { return {vcvtq_f32_s32(vpaddq_s32(sum.low, sum.high))}; }
};

/** With SDOT, which adds the four products of a lane. */
struct SdotDots {
  using Sum = int32x4_t;
  using Col = int8x16_t;
  static constexpr int kColBytes = 4, kMaxVecs = 4;
  static constexpr bool kHasOffset = false;
  static Sum zero() { return vdupq_n_s32(0); }
  static int8x16_t all(const std::byte* p) { return QuadDots::all(p); }
  static Col load(const std::byte* p) { return QuadDots::load(p); }
  static Sum add(Sum sum, int8x16_t row, Col col) {
    // Not the compiler's function: that wants the whole file compiled for processors with it.
    __asm__(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(row), "w"(col));
    return sum;
  }
  static Sum join(Sum a, Sum b) { return vaddq_s32(a, b); }
  static Vec floats(Sum sum) { return {vcvtq_f32_s32(sum)}; }
};

using IntegerDots = QuadDots;
constexpr RowForm kIntegerRows = RowForm::i8;
constexpr const char* kIntegerName = "i8";
constexpr int kIntegerGroup = 4;

#else

/** Pairs of integers of 16 bits. */
struct PairDots {
  static constexpr int kColBytes = 2, kMaxVecs = Vec::kMaxVecs;
  static constexpr bool kHasOffset = false;
#if defined(__AVX512F__)
  using Sum = __m512i;
  using Col = __m512i;
  static Sum zero() { return _mm512_setzero_si512(); }
  static __m512i all(const std::byte* p) { return _mm512_set1_epi32(group_at(p)); }
  static Col load(const std::byte* p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static Sum add(Sum sum, __m512i row, Col col) { return _mm512_add_epi32(sum, _mm512_madd_epi16(row, col)); }
  static Sum join(Sum a, Sum b) { return _mm512_add_epi32(a, b); }
  static Vec floats(Sum sum) { return {_mm512_cvtepi32_ps(sum)}; }
#elif defined(__AVX2__)
  using Sum = __m256i;
  using Col = __m256i;
  static Sum zero() { return _mm256_setzero_si256(); }
  static __m256i all(const std::byte* p) { return _mm256_set1_epi32(group_at(p)); }
  static Col load(const std::byte* p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Sum add(Sum sum, __m256i row, Col col) { return _mm256_add_epi32(sum, _mm256_madd_epi16(row, col)); }
  static Sum join(Sum a, Sum b) { return _mm256_add_epi32(a, b); }
  static Vec floats(Sum sum) { return {_mm256_cvtepi32_ps(sum)}; }
#else
  using Sum = __m128i;
  using Col = __m128i;
  static Sum zero() { return _mm_setzero_si128(); }
  static __m128i all(const std::byte* p) { return _mm_set1_epi32(group_at(p)); }
  static Col load(const std::byte* p) {
    const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm_unpacklo_epi8(codes, _mm_cmpgt_epi8(_mm_setzero_si128(), codes));
  }
  static Sum add(Sum sum, __m128i row, Col col) { return _mm_add_epi32(sum, _mm_madd_epi16(row, col)); }
  static Sum join(Sum a, Sum b) { return _mm_add_epi32(a, b); }
  static Vec floats(Sum sum) { return {_mm_cvtepi32_ps(sum)}; }
#endif
};

using IntegerDots = PairDots;
constexpr RowForm kIntegerRows = RowForm::i16;
constexpr const char* kIntegerName = "i16";
constexpr int kIntegerGroup = 2;

#endif

}  // namespace

const CodeTileTable code_tiles = {
    .integers = {.name = kIntegerName,
                 .form = kIntegerRows,
                 .group = kIntegerGroup,
                 .colBytes = IntegerDots::kColBytes,
                 .hasOffset = false,
                 .longest = kLongestIntegers,
                 .width = Vec::kWidth,
                 .maxVecs = IntegerDots::kMaxVecs,
                 .tile = code_tile<IntegerDots>},
    .floats = {.name = "f32",
               .form = RowForm::f32,
               .group = 1,
               .colBytes = FloatDots::kColBytes,
               .hasOffset = false,
               .longest = kLongestFloats,
               .width = Vec::kWidth,
               .maxVecs = FloatDots::kMaxVecs,
               .tile = code_tile<FloatDots>},
};

}  // namespace vd::cpu::VD_ISA

#if defined(__aarch64__)
namespace vd::cpu {

const CodeTiles kArmDotTiles = {.name = "sdot",
                                .form = RowForm::i8,
                                .group = 4,
                                .colBytes = neon::SdotDots::kColBytes,
                                .hasOffset = false,
                                .longest = neon::kLongestIntegers,
                                .width = neon::Vec::kWidth,
                                .maxVecs = neon::SdotDots::kMaxVecs,
                                .tile = neon::code_tile<neon::SdotDots>};

}  // namespace vd::cpu
#endif
