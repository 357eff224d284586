// Constant operands on the device: copies of host memory, and packed forms of them, shared between programs.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

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
  auto operator<=>(const Form&) const = default;
};

/** Keeps what was made until its source memory is gone or changed, or until device memory runs short. */
class Residency {
 public:
  /** The block for a form of a range; `make` fills a new one. `where`: for an allocation that fails. */
  std::shared_ptr<DeviceBlock> find_or_make(const std::shared_ptr<Context>& context, const Range& range, const Form& form,
                                            const std::string& where, const std::function<void(DeviceBlock&)>& make);
  /** Lets go of blocks whose source is gone or changed. */
  void prune();
  /** Lets go of blocks that no program uses; returns true if there were any. */
  bool release_unused();
  /** Lets go of everything; programs keep what they use. */
  void clear();
  /** Bytes of all blocks. */
  size_t bytes() const;

 private:
  using Key = std::tuple<const vd::Memory*, size_t, size_t, Form>;
  struct Entry {
    std::weak_ptr<vd::Memory> source;
    uint64_t version = 0;
    std::shared_ptr<DeviceBlock> block;
    bool current() const;
  };
  static Key key_of(const Range& range, const Form& form) { return {range.memory.get(), range.offset, range.bytes, form}; }
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace vd::cuda
