#include "reason.h"

namespace vd::cuda {

std::string Reason::text() const {
  std::string text = operand == nullptr ? "" : std::string(operand) + " ";
  int next = 0;
  for (const char* c = sentence == nullptr ? "" : sentence; *c != '\0'; ++c) {
    if (*c == '#' && next < 2) text += std::to_string(numbers[next++]);
    else text += *c;
  }
  return text;
}

Reason access_reason(const Tensor& tensor, const char* operand, int64_t step, bool whole) {
  if (!tensor.present()) return {};
  return first_of({if_so(!aligned16(tensor.data), {"is not 16-byte aligned", {}, operand}),
                   if_so(tensor.pitch % step != 0, {"has pixels # elements apart, which # does not divide", {tensor.pitch, step}, operand}),
                   if_so(whole && tensor.channels() % step != 0, {"has # channels, which # does not divide", {tensor.channels(), step}, operand})});
}

Reason sm80_reason(const DeviceInfo& device) { return if_so(device.smVersion < 80, {"needs compute capability 8.0"}); }

Reason wgmma_reason(const DeviceInfo& device) {
  if (device.hasWgmma) return {};
  if (device.smVersion == 90) return {"needs the device code sm_90a"};
  return {"needs compute capability 9.0"};
}

}  // namespace vd::cuda
