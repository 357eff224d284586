// Floats of any type as float32 and back, a vector at a time.
#include "float_kernels.h"

#include "simd/lanes.h"
#include "simd/load_typed.h"

namespace vd::cpu::VD_ISA {
namespace {

constexpr int32_t kExponent = 0x7f800000;
constexpr int32_t kMagnitude = 0x7fffffff;

typedef uint16_t Halves __attribute__((vector_size(2 * Vec::kWidth)));

/** See float_to_half. */
inline Ints half_of(Floats value) {
  const Ints bits = bits_of(value), magnitude = bits & kMagnitude, sign = (bits >> 16) & 0x8000;
  const Ints small = bits_of(floats_of(magnitude) + all_floats(0.5f)) - 0x3f000000;
  const Ints normal = (magnitude - 0x37fff001 + ((magnitude >> 13) & 1)) >> 13;
  Ints half = choose(magnitude < 0x38800000, small, normal);
  half = choose(magnitude >= 0x477ff000, all_ints(0x7c00), half);
  return choose(magnitude > kExponent, all_ints(0x7e00), half) | sign;
}

/** See float_to_bfloat16. */
inline Ints bfloat16_of(Floats value) {
  const Ints bits = bits_of(value);
  const Ints rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return choose((bits & kMagnitude) > kExponent, (bits >> 16) | 0x40, rounded) & 0xffff;
}

template <DType TYPE> inline Halves stored(Floats value) {
  return __builtin_convertvector(TYPE == DType::f16 ? half_of(value) : bfloat16_of(value), Halves);
}

template <DType TYPE> void narrow_to(const float* x, int64_t n, std::byte* y) {
  int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) write_lanes(stored<TYPE>(read_lanes<Floats>(x + i)), y + 2 * i);
  if (i < n) write_lanes(stored<TYPE>(read_lanes<Floats>(x + i, n - i)), reinterpret_cast<uint16_t*>(y) + i, n - i);
}

void narrow(const float* x, DType type, int64_t n, std::byte* y) {
  if (type == DType::f16) return narrow_to<DType::f16>(x, n, y);
  narrow_to<DType::bf16>(x, n, y);
}

/** Magnitudes are in the order of their bits, those of NaN above all. */
float largest(const float* x, int64_t n) {
  Ints most{};
  int64_t i = 0;
  const auto look = [&](Ints bits) { most = choose((bits & kMagnitude) > most, bits & kMagnitude, most); };
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) look(read_lanes<Ints>(x + i));
  if (i < n) look(read_lanes<Ints>(x + i, n - i));
  int32_t found = 0;
  for (int lane = 0; lane < Vec::kWidth; ++lane)
    if (most[lane] > found) found = most[lane];
  return __builtin_bit_cast(float, found);
}

template <DType TYPE> bool widen_as(const std::byte* x, int64_t n, float* y) {
  constexpr int64_t kItem = TYPE == DType::f32 ? 4 : 2;
  Ints outside{};
  const auto look = [&](const float* at) { outside |= (read_lanes<Ints>(at) & kExponent) == kExponent; };
  int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) {
    load_typed<TYPE>(x + i * kItem, Vec::kWidth).store(y + i);
    look(y + i);
  }
  if (i < n) {
    float rest[Vec::kWidth];
    load_typed<TYPE>(x + i * kItem, n - i).store(rest);
    look(rest);
    __builtin_memcpy(y + i, rest, static_cast<size_t>(n - i) * sizeof(float));
  }
  int32_t any = 0;
  for (int lane = 0; lane < Vec::kWidth; ++lane) any |= outside[lane];
  return any == 0;
}

bool widen(const std::byte* x, DType type, int64_t n, float* y) {
  if (type == DType::f16) return widen_as<DType::f16>(x, n, y);
  if (type == DType::bf16) return widen_as<DType::bf16>(x, n, y);
  return widen_as<DType::f32>(x, n, y);
}

}  // namespace

const FloatKernels float_kernels = {.widen = widen, .narrow = narrow, .largest = largest};

}  // namespace vd::cpu::VD_ISA
