// Memory that a program is given for what it has beside its buffers.
#pragma once
#include <map>
#include <optional>

#include "../core/program.h"
#include "residency.h"

namespace vd::cuda {

/** Hands out parts of a range of device memory, one behind the other; none of them is given back. */
class ProgramSpace {
 public:
  /** range: of device memory, or empty. Throws Error(layout) for memory of the host and for what lies outside of it. */
  explicit ProgramSpace(MemoryRange range);
  /** A part of `bytes`; nothing where there is no room for it. */
  std::optional<driver::DevicePtr> take(size_t bytes);
  /** Where the form of a range lies; nothing where there is no room for it. `make` fills a new one. */
  std::optional<driver::DevicePtr> find_or_make(const Range& range, const Form& form, const std::function<void(driver::DevicePtr)>& make);

 private:
  MemoryRange range_;
  size_t used_ = 0;
  std::map<FormKey, driver::DevicePtr> placed_;
};

}  // namespace vd::cuda
