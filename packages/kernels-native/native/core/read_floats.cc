#include "read_floats.h"

#include "float_element.h"

namespace vd {
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
    for (size_t c = 0; c < r.channels; ++c) values[i * r.channels + c] = load_element(raw.data(), r.dtype, static_cast<int64_t>(i * r.pitch + c));
  return values;
}

}  // namespace vd
