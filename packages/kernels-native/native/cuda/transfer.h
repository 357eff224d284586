// Copies between host and device through pinned memory, so that reading pages and moving them overlap.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "../core/memory.h"
#include "../core/thread_pool.h"
#include "stream.h"

namespace vd::cuda {

/** Page-locked host memory. */
class PinnedBlock {
 public:
  /** where: for messages. Throws Error(memory). */
  PinnedBlock(std::shared_ptr<Context> context, size_t bytes, const std::string& where = "pinned memory");
  ~PinnedBlock();
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Context> context_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/** A lock that is given in the order of asking, so that others come in between the pieces of a long upload. */
class FairMutex {
 public:
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
  std::condition_variable turnChanged_;
  uint64_t nextTicket_ = 0, turn_ = 0;
};

/** A stream for copies, with a few pinned blocks in turn. One caller at a time: take `lock()` first. */
class Transfer {
 public:
  explicit Transfer(std::shared_ptr<Context> context);
  std::unique_lock<FairMutex> lock() { return std::unique_lock(mutex_); }
  const Stream& stream() const { return stream_; }

  /** Queues a copy to the device; `source` may change afterwards. */
  void upload(driver::DevicePtr target, const std::byte* source, size_t bytes);
  /** Copies from the device; complete when it returns. */
  void download(std::byte* target, driver::DevicePtr source, size_t bytes);
  /** Hands bytes of the device to `take`, as Memory::read_in_blocks says, while the next block is on its way. Takes the lock itself, until
   *  a copy is queued: others need not wait for what is done with the bytes. */
  void download_in_blocks(driver::DevicePtr source, size_t bytes, size_t unit, const Memory::TakeBlock& take);
  /** Copies from page-locked memory to the device; complete when it returns. Takes the lock itself, until the copy is queued. */
  void upload_directly(driver::DevicePtr target, const std::byte* source, size_t bytes);
  /** Copies from the device to page-locked memory; as `upload_directly`. */
  void download_directly(std::byte* target, driver::DevicePtr source, size_t bytes);
  void fill(driver::DevicePtr target, int value, size_t bytes);
  /** Waits for everything queued. */
  void finish(const std::string& where);

 private:
  static constexpr size_t kBlockBytes = Memory::kMostUnit;
  static constexpr int kNumBlocks = 3;
  struct Slot {
    std::unique_ptr<PinnedBlock> block;
    std::unique_ptr<Event> free;
  };
  /** Queues copies piece by piece, so that others come in between, and waits for each. */
  template <class Queue> void in_pieces(size_t bytes, const std::string& where, Queue&& queue);
  /** The next slot, once its last copy is done. */
  Slot& next_slot();
  /** A slot with its block, once its last copy is done. */
  Slot& prepared(Slot& slot);
  /** Copies from host to host. */
  void copy_on_host(std::byte* target, const std::byte* source, size_t bytes);
  std::shared_ptr<Context> context_;
  Stream stream_;
  std::array<Slot, kNumBlocks> slots_;
  int next_ = 0;
  /** Of `download_in_blocks`, which one caller at a time uses. */
  std::array<Slot, 2> read_;
  FairMutex readMutex_;
  /** Starts with the first large copy. */
  std::optional<ThreadPool> copyThreads_;
  FairMutex mutex_;
};

}  // namespace vd::cuda
