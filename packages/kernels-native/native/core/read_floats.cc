#include "read_floats.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace vd {
namespace {

float from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = std::ldexp(static_cast<float>(mantissa), -24);
  return sign != 0 ? -small : small;
}

float element(const std::byte* at, DType dtype) {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::f16 ? from_f16(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace

std::vector<float> read_floats(const Memory& memory, const FloatRegion& r) {
  std::vector<float> values(r.pixels * r.channels);
  if (r.dtype == DType::f32 && r.pitch == r.channels) {
    memory.read(r.byteOffset, values.data(), values.size() * sizeof(float));
    return values;
  }
  const auto item = static_cast<size_t>(bytes_of(r.dtype));
  std::vector<std::byte> raw(((r.pixels - 1) * r.pitch + r.channels) * item);
  memory.read(r.byteOffset, raw.data(), raw.size());
  for (size_t i = 0; i < r.pixels; ++i)
    for (size_t c = 0; c < r.channels; ++c) values[i * r.channels + c] = element(raw.data() + (i * r.pitch + c) * item, r.dtype);
  return values;
}

}  // namespace vd
