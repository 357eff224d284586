// Packed weights shared between the programs that use them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

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
  std::shared_ptr<AlignedBlock> find_or_make(const Key& key, size_t bytes, const std::function<void(std::byte*)>& pack);
  /** Bytes of all living packings. */
  size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<AlignedBlock>> entries_;
};

}  // namespace vd::cpu
