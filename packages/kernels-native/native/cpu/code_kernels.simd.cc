// Rounding to 8-bit codes and back: the bits of core/float8.h, a vector at a time.
#include "code_kernels.h"

#include "simd/lanes.h"
#include "simd/load.h"

namespace vd::cpu::VD_ISA {
namespace {

constexpr int32_t kMagnitude = 0x7fffffff;
constexpr int32_t kInfinity = 0x7f800000;

/** Codes of float8 e4m3; see float_to_float8. */
inline Ints float8_of(Floats value) {
  const Ints bits = bits_of(value), magnitude = bits & kMagnitude;
  const Ints sign = (bits >> 24) & 0x80;
  const Ints small = bits_of(floats_of(magnitude) + all_floats(0x1p14f)) - bits_of(all_floats(0x1p14f));
  const Ints normal = (magnitude - 0x3bf80001 + ((magnitude >> 20) & 1)) >> 20;
  Ints code = choose(magnitude < 0x3c800000, small, normal);
  code = choose(magnitude >= 0x43e00000, all_ints(0x7e), code) | sign;
  return choose(magnitude > kInfinity, all_ints(0x7f), code);
}

/** Integers from -127 to 127 in two's complement; 0 for NaN. */
inline Ints int8_of(Floats value) {
  const Ints limit = bits_of(all_floats(127.0f)), bits = bits_of(value), magnitude = bits & kMagnitude;
  const Ints number = choose(magnitude > kInfinity, Ints{}, choose(magnitude < limit, magnitude, limit));
  // Numbers of this size have no bits behind the point: the addition rounds to nearest even.
  const Floats whole = floats_of(number | (bits & ~kMagnitude)) + all_floats(0x1.8p23f);
  return bits_of(whole) - bits_of(all_floats(0x1.8p23f));
}

inline Floats number_of_float8(Ints code) {
  const Ints magnitude = code & 0x7f, sign = (code & 0x80) << 24;
  // Exponents of bias 7 become float ones by an addition; subnormals are multiples of 2^-9. To scale their bits by 2^120 would be shorter,
  // but is slow where these are subnormal floats: a call of tiny-svd's UNet in float8 took 303 ms, 241 so.
  const Floats small = __builtin_convertvector(magnitude, Floats) * all_floats(0x1p-9f);
  const Ints value = choose(magnitude < 8, bits_of(small), (magnitude << 20) + (120 << 23));
  return floats_of(choose(magnitude == 0x7f, all_ints(0x7fc00000), value) | sign);
}

inline Floats number_of_int8(Ints code) { return __builtin_convertvector((code << 24) >> 24, Floats); }

/** The larger of both for each lane; magnitudes of NaN do not count. */
inline Ints larger(Ints found, Ints bits) {
  const Ints magnitude = bits & kMagnitude;
  return choose((magnitude > found) & (magnitude <= kInfinity), magnitude, found);
}

int32_t largest(const float* x, int64_t n) {
  const auto* bits = reinterpret_cast<const int32_t*>(x);
  Ints found[2] = {};
  int64_t i = 0;
  for (; i + 2 * Vec::kWidth <= n; i += 2 * Vec::kWidth) {
    __builtin_prefetch(x + i + kAhead);
    found[0] = larger(found[0], read_lanes<Ints>(bits + i));
    found[1] = larger(found[1], read_lanes<Ints>(bits + i + Vec::kWidth));
  }
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) found[0] = larger(found[0], read_lanes<Ints>(bits + i));
  if (i < n) found[0] = larger(found[0], read_lanes<Ints>(bits + i, n - i));
  found[0] = larger(found[0], found[1]);
  int32_t most = 0;
  for (int lane = 0; lane < Vec::kWidth; ++lane) most = found[0][lane] > most ? found[0][lane] : most;
  return most;
}

template <bool INTEGERS> inline Bytes codes_of(Floats value) {
  return __builtin_convertvector(INTEGERS ? int8_of(value) : float8_of(value), Bytes);
}

template <bool INTEGERS> void encode_as(const float* x, int64_t n, float inverse, uint8_t* y) {
  const Floats factor = all_floats(inverse);
  int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) {
    __builtin_prefetch(x + i + kAhead);
    write_lanes(codes_of<INTEGERS>(read_lanes<Floats>(x + i) * factor), y + i);
  }
  if (i < n) write_lanes(codes_of<INTEGERS>(read_lanes<Floats>(x + i, n - i) * factor), y + i, n - i);
}

void encode(const float* x, int64_t n, float inverse, DType type, uint8_t* y) {
  if (type == DType::i8) return encode_as<true>(x, n, inverse, y);
  encode_as<false>(x, n, inverse, y);
}

template <bool INTEGERS> inline Floats numbers_of(Bytes codes) {
  const Ints wide = __builtin_convertvector(codes, Ints);
  return INTEGERS ? number_of_int8(wide) : number_of_float8(wide);
}

template <bool INTEGERS> void decode_as(const uint8_t* codes, int64_t n, float scale, float* y) {
  const Floats factor = all_floats(scale);
  int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) write_lanes(numbers_of<INTEGERS>(read_lanes<Bytes>(codes + i)) * factor, y + i);
  if (i < n) write_lanes(numbers_of<INTEGERS>(read_lanes<Bytes>(codes + i, n - i)) * factor, y + i, n - i);
}

void decode(const uint8_t* codes, int64_t n, DType type, float scale, float* y) {
  if (type == DType::i8) return decode_as<true>(codes, n, scale, y);
  decode_as<false>(codes, n, scale, y);
}

void widen(const uint8_t* codes, int64_t n, RowForm form, std::byte* out) {
  switch (form) {
    case RowForm::biased:
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(codes[i] ^ 0x80u);
      return;
    case RowForm::i8: __builtin_memcpy(out, codes, static_cast<size_t>(n)); return;
    case RowForm::i16: {
      auto* wide = reinterpret_cast<int16_t*>(out);
      for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<int8_t>(codes[i]);
      return;
    }
    case RowForm::f32: return decode(codes, n, DType::f8e4m3, 1.0f, reinterpret_cast<float*>(out));
  }
}

}  // namespace

const CodeKernels code_kernels = {.largest = largest, .encode = encode, .decode = decode, .widen = widen};

}  // namespace vd::cpu::VD_ISA
