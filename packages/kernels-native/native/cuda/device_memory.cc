#include "device_memory.h"

namespace vd::cuda {

DeviceMemory::DeviceMemory(std::shared_ptr<Context> context, std::shared_ptr<Transfer> transfer, size_t bytes, Contents contents)
    : context_(context), transfer_(std::move(transfer)), block_(context, bytes == 0 ? 1 : bytes, "allocate") {
  data_ = reinterpret_cast<std::byte*>(block_.address());
  bytes_ = bytes == 0 ? 1 : bytes;
  if (contents == Contents::zeros) fill(0, 0, bytes_);
}

void DeviceMemory::write(size_t offset, const void* source, size_t bytes) {
  const auto guard = transfer_->lock();
  context_->enter("write");
  changed();
  transfer_->upload(block_.address() + offset, static_cast<const std::byte*>(source), bytes);
  transfer_->finish("write");
}

void DeviceMemory::read(size_t offset, void* target, size_t bytes) const {
  const auto guard = transfer_->lock();
  context_->enter("read");
  transfer_->download(static_cast<std::byte*>(target), block_.address() + offset, bytes);
}

void DeviceMemory::read_in_blocks(size_t offset, size_t bytes, size_t unit, const TakeBlock& take) const {
  context_->enter("read");
  transfer_->download_in_blocks(block_.address() + offset, bytes, unit, take);
}

void DeviceMemory::fill(size_t offset, int value, size_t bytes) {
  const auto guard = transfer_->lock();
  context_->enter("fill");
  changed();
  transfer_->fill(block_.address() + offset, value, bytes);
  transfer_->finish("fill");
}

void DeviceMemory::read_directly(size_t offset, std::byte* target, size_t bytes) const {
  context_->enter("copyFrom");
  transfer_->download_directly(target, block_.address() + offset, bytes);
}

void DeviceMemory::copy(size_t offset, const vd::Memory& source, size_t from, size_t bytes) {
  if (source.page_locked()) {
    context_->enter("copyFrom");
    changed();
    return transfer_->upload_directly(block_.address() + offset, source.data() + from, bytes);
  }
  if (source.on_host()) return write(offset, source.data() + from, bytes);
  const auto guard = transfer_->lock();
  context_->enter("copyFrom");
  queue_copy(transfer_->stream(), offset, static_cast<const DeviceMemory&>(source), from, bytes);
  transfer_->finish("copyFrom");
}

void DeviceMemory::queue_copy(const Stream& stream, size_t offset, const DeviceMemory& source, size_t from, size_t bytes) {
  if (&source == this && offset < from + bytes && from < offset + bytes)
    throw Error(ErrorCode::layout, "copyFrom", "ranges of device memory that do not overlap", "overlapping ones");
  changed();
  stream.copy(block_.address() + offset, source.block_.address() + from, bytes, source.context());
}

}  // namespace vd::cuda
