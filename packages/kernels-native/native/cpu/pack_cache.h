// Packed weights shared between the programs that use them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "../core/thread_pool.h"

namespace vd::cpu {

/** 64-byte aligned memory that frees itself. */
class AlignedBlock {
 public:
  explicit AlignedBlock(size_t bytes);
  ~AlignedBlock();
  AlignedBlock(const AlignedBlock&) = delete;
  AlignedBlock& operator=(const AlignedBlock&) = delete;
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/** Finds a packing of (source address, kind, variant) or makes it; entries live while a program holds them. */
class PackCache {
 public:
  using Key = std::tuple<const void*, int, int64_t, int64_t>;
  /** pool: whose workers pack; without one the calling thread does. */
  explicit PackCache(ThreadPool* pool = nullptr) : pool_(pool) {}

  /** Calls part(index) once for each index in [0, count), in any order, on the workers: for parts of a packing that lie apart. */
  template <class Part> void in_parts(int64_t count, const Part& part) {
    if (pool_) return pool_->parallel_for(count, [&](int64_t index, int) { part(index); });
    for (int64_t index = 0; index < count; ++index) part(index);
  }

  std::shared_ptr<AlignedBlock> find_or_make(const Key& key, size_t bytes, const std::function<void(std::byte*)>& pack);
  /** Bytes of all living packings. */
  size_t bytes() const;

 private:
  ThreadPool* pool_;
  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<AlignedBlock>> entries_;
};

}  // namespace vd::cpu
