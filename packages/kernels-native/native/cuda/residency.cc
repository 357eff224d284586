#include "residency.h"

namespace vd::cuda {

bool Residency::Entry::current() const {
  const std::shared_ptr<vd::Memory> memory = source.lock();
  return memory && memory->version() == version;
}

void Residency::prune() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return !entry.second.current(); });
}

std::shared_ptr<DeviceBlock> Residency::find_or_make(const std::shared_ptr<Context>& context, const Range& range, const Form& form,
                                                     const std::string& where, const std::function<void(DeviceBlock&)>& make) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key_of(range, form));
    if (found != entries_.end() && found->second.current()) return found->second.block;
  }
  const uint64_t version = range.memory->version();
  auto block = std::make_shared<DeviceBlock>(context, form.bytes, where);
  make(*block);
  const std::lock_guard lock(mutex_);
  entries_[key_of(range, form)] = {range.memory, version, block};
  return block;
}

bool Residency::release_unused() {
  const std::lock_guard lock(mutex_);
  return std::erase_if(entries_, [](const auto& entry) { return entry.second.block.use_count() == 1; }) > 0;
}

void Residency::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

size_t Residency::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t total = 0;
  for (const auto& [key, entry] : entries_) total += entry.block->bytes();
  return total;
}

}  // namespace vd::cuda
