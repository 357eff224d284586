// Memory of a GPU as tensors and buffers see it.
#pragma once
#include <memory>

#include "../core/memory.h"
#include "../core/program.h"
#include "transfer.h"

namespace vd::cuda {

/** Device memory that frees itself. */
class DeviceBlock {
 public:
  /** Uninitialised. Throws Error(memory). */
  DeviceBlock(std::shared_ptr<Context> context, size_t bytes, const std::string& where)
      : context_(std::move(context)), address_(context_->allocate(bytes, where)), bytes_(bytes) {}
  ~DeviceBlock() { context_->free(address_); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  driver::DevicePtr address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Context> context_;
  driver::DevicePtr address_ = 0;
  size_t bytes_ = 0;
};

/** A buffer in device memory. Reads and writes wait until they are done. */
class DeviceMemory final : public vd::Memory {
 public:
  /** Throws Error(memory|driver). */
  DeviceMemory(std::shared_ptr<Context> context, std::shared_ptr<Transfer> transfer, size_t bytes, Contents contents);
  bool on_host() const override { return false; }
  void write(size_t offset, const void* source, size_t bytes) override;
  void read(size_t offset, void* target, size_t bytes) const override;
  void read_in_blocks(size_t offset, size_t bytes, size_t unit, const TakeBlock& take) const override;
  void fill(size_t offset, int value, size_t bytes) override;
  void copy(size_t offset, const vd::Memory& source, size_t from, size_t bytes) override;
  /** Queues a copy of a range of other device memory, this device's or another's; what follows on the stream waits for it. */
  void queue_copy(const Stream& stream, size_t offset, const DeviceMemory& source, size_t from, size_t bytes);
  /** Reads into page-locked memory, without staging. */
  void read_directly(size_t offset, std::byte* target, size_t bytes) const;
  const Context& context() const { return *context_; }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<Transfer> transfer_;
  DeviceBlock block_;
};

}  // namespace vd::cuda
