// Constant operands as kernels read them: copies of host memory, and packed forms of them, shared between programs.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "../core/program.h"
#include "device_memory.h"

namespace vd::cuda {

/** Part of a memory that rows address. */
struct Range {
  std::shared_ptr<vd::Memory> memory;
  size_t offset = 0;
  size_t bytes = 0;
};

/** What was made of a range: kind and target type as in Pack, or a plain copy with kind -1. */
struct Form {
  int kind = -1;
  int64_t targetType = 0;
  size_t bytes = 0;
  /** Where in the range the source begins: the groups of a convolution are packed one by one. */
  uint64_t offset = 0;
  /** True for what is much larger than its source and quickly made of it again. */
  bool transformed = false;
  auto operator<=>(const Form&) const = default;
};

/** A form of a range, as the key of what was made of it. */
using FormKey = std::tuple<const vd::Memory*, size_t, size_t, Form>;

/** The key of a form of a range. */
inline FormKey key_of(const Range& range, const Form& form) { return {range.memory.get(), range.offset, range.bytes, form}; }

/** Keeps what was made in blocks of some memory until its source is gone or changed, or until memory runs short. */
template <class Block> class KeptForms {
 public:
  /** The block for a form of a range; `make` fills a new one. `where`: for an allocation that fails. */
  std::shared_ptr<Block> find_or_make(const std::shared_ptr<Context>& context, const Range& range, const Form& form,
                                      const std::string& where, const std::function<void(Block&)>& make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key_of(range, form));
      if (found != entries_.end() && found->second.current()) return found->second.block;
    }
    const uint64_t version = range.memory->version();
    auto block = std::make_shared<Block>(context, form.bytes, where);
    make(*block);
    const std::lock_guard lock(mutex_);
    entries_[key_of(range, form)] = {range.memory, version, block};
    return block;
  }

  /** Whether a form of a range is kept. */
  bool has(const Range& range, const Form& form) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key_of(range, form));
    return found != entries_.end() && found->second.current();
  }

  /** Lets go of blocks whose source is gone or changed. */
  void prune() {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const auto& entry) { return !entry.second.current(); });
  }

  /** Lets go of blocks that no program uses, of all or of transformed ones; returns true if there were any. */
  bool release_unused(Unused which = Unused::all) {
    const std::lock_guard lock(mutex_);
    return std::erase_if(entries_, [which](const auto& entry) {
             const bool wanted = which == Unused::all || std::get<Form>(entry.first).transformed;
             return wanted && entry.second.block.use_count() == 1;
           }) > 0;
  }

  /** Bytes of all blocks. */
  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    size_t total = 0;
    for (const auto& [key, entry] : entries_) total += entry.block->bytes();
    return total;
  }

 private:
  struct Entry {
    std::weak_ptr<vd::Memory> source;
    uint64_t version = 0;
    std::shared_ptr<Block> block;
    bool current() const {
      const std::shared_ptr<vd::Memory> memory = source.lock();
      return memory && memory->version() == version;
    }
  };
  mutable std::mutex mutex_;
  std::map<FormKey, Entry> entries_;
};

/** Weights on the device. */
using Residency = KeptForms<DeviceBlock>;
/** Weights in page-locked host memory, from which they are streamed. */
using PinnedWeights = KeptForms<PinnedBlock>;

}  // namespace vd::cuda
