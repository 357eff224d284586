#include "program_space.h"

#include <cstdint>

namespace vd::cuda {
namespace {

/** As blocks of the driver are. */
constexpr size_t kAlignment = 256;

size_t aligned(size_t value) { return (value + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ProgramSpace::ProgramSpace(MemoryRange range) : range_(std::move(range)) {
  if (!range_.memory) return;
  const size_t all = range_.memory->bytes();
  if (range_.memory->on_host()) throw Error(ErrorCode::layout, "compile", "device memory as space for a program", "memory of the host");
  if (range_.offset > all || range_.bytes > all - range_.offset)
    throw Error(ErrorCode::layout, "compile", "space within the " + std::to_string(all) + " bytes of its memory",
                std::to_string(range_.bytes) + " bytes from " + std::to_string(range_.offset) + " on");
  used_ = aligned(range_.offset) - range_.offset;
}

std::optional<driver::DevicePtr> ProgramSpace::take(size_t bytes) {
  if (!range_.memory || used_ > range_.bytes || bytes > range_.bytes - used_) return std::nullopt;
  const driver::DevicePtr address = reinterpret_cast<driver::DevicePtr>(range_.memory->data()) + range_.offset + used_;
  used_ += aligned(bytes);
  return address;
}

std::optional<driver::DevicePtr> ProgramSpace::find_or_make(const Range& range, const Form& form,
                                                            const std::function<void(driver::DevicePtr)>& make) {
  const FormKey key = key_of(range, form);
  if (const auto found = placed_.find(key); found != placed_.end()) return found->second;
  const std::optional<driver::DevicePtr> address = take(form.bytes);
  if (!address) return std::nullopt;
  make(*address);
  placed_.emplace(key, *address);
  return address;
}

}  // namespace vd::cuda
