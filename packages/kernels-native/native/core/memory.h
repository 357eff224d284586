// Blocks of memory that tensors live in: host memory, a read-only view of a file, or memory of a device.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace vd {

class Memory {
 public:
  /** Takes a block of bytes that begins at byte `at` of what is read. */
  using TakeBlock = std::function<void(const std::byte* block, size_t at, size_t bytes)>;
  /** Bytes of a block that a device's memory is read through. */
  static constexpr size_t kMostUnit = size_t{8} << 20;

  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /** The first byte; an address that only the device knows when `on_host()` is false. */
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  /** How often the contents were changed from outside, so that copies of them know when they are stale. */
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  virtual bool on_host() const { return true; }
  /** Host memory that GPUs read and write themselves. */
  virtual bool page_locked() const { return false; }

  // Ranges must lie inside the memory; the caller checks. Throw Error(driver) where the memory is a device's.
  virtual void write(size_t offset, const void* source, size_t bytes);
  virtual void read(size_t offset, void* target, size_t bytes) const;
  /** Hands the bytes of a range to `take` in their order, in blocks that last as long as its call and hold whole units but for the last
   * one. unit: of at most `kMostUnit` bytes. */
  virtual void read_in_blocks(size_t offset, size_t bytes, size_t unit, const TakeBlock& take) const;
  virtual void fill(size_t offset, int value, size_t bytes);
  /** Copies a range of other memory, of this or another device or the host, here; ranges in host memory may overlap. */
  virtual void copy(size_t offset, const Memory& source, size_t from, size_t bytes);
  /** Says that the bytes will not be read soon: pages of a file may go back to the system. */
  virtual void release_pages(size_t, size_t) const {}

 protected:
  Memory() = default;
  void changed() { version_.fetch_add(1, std::memory_order_relaxed); }
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool writable_ = true;

 private:
  std::atomic<uint64_t> version_{0};
};

/** Bytes of one memory that are copied to another; the caller checks that they lie inside both. */
struct MemoryCopy {
  std::shared_ptr<Memory> target, source;
  size_t from = 0, to = 0, bytes = 0;
  void run() const { target->copy(to, *source, from, bytes); }
};

/** Zeroed pages of the operating system, so untouched parts cost nothing. Throws Error(memory). */
std::shared_ptr<Memory> allocate_host(size_t bytes);

/** Maps a whole file read-only; `path` is UTF-8. Throws Error(io). */
std::shared_ptr<Memory> map_file(const std::string& path);

}  // namespace vd
