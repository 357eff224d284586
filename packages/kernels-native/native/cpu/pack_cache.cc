#include "pack_cache.h"

#include <new>

namespace vd::cpu {

namespace {
constexpr std::align_val_t kAlignment{64};
}

AlignedBlock::AlignedBlock(size_t bytes)
    : data_(static_cast<std::byte*>(::operator new(bytes > 0 ? bytes : 1, kAlignment))), bytes_(bytes) {}

AlignedBlock::~AlignedBlock() { ::operator delete(data_, kAlignment); }

std::shared_ptr<AlignedBlock> PackCache::find_or_make(const Key& key, size_t bytes, const std::function<void(std::byte*)>& pack) {
  std::lock_guard lock(mutex_);
  if (auto found = entries_[key].lock()) return found;
  auto made = std::make_shared<AlignedBlock>(bytes);
  pack(made->data());
  entries_[key] = made;
  // Entries whose programs are gone keep only their key; drop those here, where the map is touched anyway.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
  return made;
}

size_t PackCache::bytes() const {
  std::lock_guard lock(mutex_);
  size_t total = 0;
  for (const auto& [key, weak] : entries_) {
    if (const auto block = weak.lock()) total += block->bytes();
  }
  return total;
}

}  // namespace vd::cpu
