#include "locked_memory.h"

#include <algorithm>

#include "../core/os_memory.h"
#include "../core/touch_pages.h"
#include "device_memory.h"

namespace vd::cuda {

LockedMemory::LockedMemory(std::shared_ptr<Context> context, size_t bytes) : context_(std::move(context)) {
  bytes_ = std::max<size_t>(bytes, 1);
  data_ = static_cast<std::byte*>(os::reserve_huge_pages(bytes_));
  if (data_ == nullptr)
    throw Error(ErrorCode::memory, "allocate", std::to_string(bytes_) + " bytes of free memory", "a refusal by the operating system",
                "Use fewer frames, a smaller size or a smaller decode chunk.");
  driver::Result result = driver::kSuccess;
  try {
    touch_pages(data_, bytes_);
    result = context_->api().host_register(data_, bytes_, driver::kHostRegisterPortable);
    if (driver::loses_device(result)) context_->check(result, "allocate");
  } catch (...) {
    os::release_pages(data_, bytes_);
    throw;
  }
  locked_ = result == driver::kSuccess;
}

LockedMemory::~LockedMemory() {
  if (unlock()) os::release_pages(data_, bytes_);
  // Another GPU's driver context may still take these addresses for the memory that was page-locked here.
  else os::release_pages_keep_addresses(data_, bytes_);
}

bool LockedMemory::unlock() noexcept {
  if (!locked_) return true;
  if (context_->lost() || context_->api().context_set_current(context_->handle()) != driver::kSuccess) return false;
  return context_->api().host_unregister(data_) == driver::kSuccess;
}

void LockedMemory::copy(size_t offset, const vd::Memory& source, size_t from, size_t bytes) {
  if (source.on_host() || !page_locked()) return vd::Memory::copy(offset, source, from, bytes);
  changed();
  static_cast<const DeviceMemory&>(source).read_directly(from, data_ + offset, bytes);
}

}  // namespace vd::cuda
