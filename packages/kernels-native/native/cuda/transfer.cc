#include "transfer.h"

#include <algorithm>
#include <cstring>

#include "../core/touch_pages.h"

namespace vd::cuda {

namespace {

/** What one thread copies at a time. */
constexpr size_t kShare = size_t{1} << 20;

/** A part of a direct copy: takes a millisecond or two, beside which the wait behind it is short. */
constexpr size_t kDirectPiece = size_t{64} << 20;

}  // namespace

void FairMutex::lock() {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = nextTicket_++;
  turnChanged_.wait(lock, [&] { return turn_ == ticket; });
}

void FairMutex::unlock() {
  {
    const std::lock_guard lock(mutex_);
    ++turn_;
  }
  turnChanged_.notify_all();
}

PinnedBlock::PinnedBlock(std::shared_ptr<Context> context, size_t bytes, const std::string& where)
    : context_(std::move(context)), bytes_(bytes) {
  void* data = nullptr;
  const driver::Result result = context_->api().host_allocate(&data, bytes, 0);
  if (result == driver::kOutOfMemory)
    throw Error(ErrorCode::memory, where, std::to_string(bytes) + " bytes of page-locked host memory", "none left",
                "Free memory of the machine, or use a memory mode that keeps weights on the device.");
  context_->check(result, where);
  data_ = static_cast<std::byte*>(data);
}

PinnedBlock::~PinnedBlock() {
  if (context_->lost() || context_->api().context_set_current(context_->handle()) != driver::kSuccess) return;
  context_->api().host_free(data_);
}

Transfer::Transfer(std::shared_ptr<Context> context) : context_(context), stream_(std::move(context)) {}

Transfer::Slot& Transfer::next_slot() {
  Slot& slot = slots_[static_cast<size_t>(next_)];
  next_ = (next_ + 1) % kNumBlocks;
  return prepared(slot);
}

Transfer::Slot& Transfer::prepared(Slot& slot) {
  if (slot.free) {
    slot.free->wait("copy");
  } else {
    slot.block = std::make_unique<PinnedBlock>(context_, kBlockBytes);
    slot.free = std::make_unique<Event>(context_, false);
  }
  return slot;
}

void Transfer::copy_on_host(std::byte* target, const std::byte* source, size_t bytes) {
  if (bytes > kShare && !copyThreads_) copyThreads_.emplace(copying_threads());
  if (bytes <= kShare || copyThreads_->threads() == 1) {
    std::memcpy(target, source, bytes);
    return;
  }
  copyThreads_->parallel_for(static_cast<int64_t>((bytes + kShare - 1) / kShare), [&](int64_t share, int) {
    const size_t at = static_cast<size_t>(share) * kShare;
    std::memcpy(target + at, source + at, std::min(kShare, bytes - at));
  });
}

void Transfer::upload(driver::DevicePtr target, const std::byte* source, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kBlockBytes) {
    const size_t part = std::min(kBlockBytes, bytes - at);
    Slot& slot = next_slot();
    copy_on_host(slot.block->data(), source + at, part);
    context_->check(context_->api().copy_to_device(target + at, slot.block->data(), part, stream_.handle()), "upload");
    slot.free->record(stream_);
  }
}

void Transfer::download(std::byte* target, driver::DevicePtr source, size_t bytes) {
  // One block is filled by the device while the one before it is emptied.
  Slot* last = nullptr;
  size_t last_at = 0;
  const auto empty = [&](size_t end) {
    if (last == nullptr) return;
    last->free->wait("readback");
    copy_on_host(target + last_at, last->block->data(), end - last_at);
  };
  for (size_t at = 0; at < bytes; at += kBlockBytes) {
    Slot& slot = next_slot();
    const size_t part = std::min(kBlockBytes, bytes - at);
    context_->check(context_->api().copy_to_host(slot.block->data(), source + at, part, stream_.handle()), "readback");
    slot.free->record(stream_);
    empty(at);
    last = &slot;
    last_at = at;
  }
  empty(bytes);
}

void Transfer::download_in_blocks(driver::DevicePtr source, size_t bytes, size_t unit, const Memory::TakeBlock& take) {
  const std::lock_guard readers(readMutex_);
  const size_t perBlock = kBlockBytes / unit * unit;
  const auto queue = [&](size_t at, size_t turn) {
    if (at >= bytes) return;
    Slot& slot = prepared(read_[turn]);
    const auto guard = lock();
    context_->check(context_->api().copy_to_host(slot.block->data(), source + at, std::min(perBlock, bytes - at), stream_.handle()),
                    "readback");
    slot.free->record(stream_);
  };
  queue(0, 0);
  for (size_t at = 0, turn = 0; at < bytes; at += perBlock, turn ^= 1) {
    queue(at + perBlock, turn ^ 1);
    read_[turn].free->wait("readback");
    take(read_[turn].block->data(), at, std::min(perBlock, bytes - at));
  }
}

template <class Queue> void Transfer::in_pieces(size_t bytes, const std::string& where, Queue&& queue) {
  Event done(context_, false);
  for (size_t at = 0; at < bytes; at += kDirectPiece) {
    {
      const auto guard = lock();
      context_->check(queue(at, std::min(kDirectPiece, bytes - at)), where);
      done.record(stream_);
    }
    done.wait(where);
  }
}

void Transfer::upload_directly(driver::DevicePtr target, const std::byte* source, size_t bytes) {
  in_pieces(bytes, "upload",
            [&](size_t at, size_t part) { return context_->api().copy_to_device(target + at, source + at, part, stream_.handle()); });
}

void Transfer::download_directly(std::byte* target, driver::DevicePtr source, size_t bytes) {
  in_pieces(bytes, "readback",
            [&](size_t at, size_t part) { return context_->api().copy_to_host(target + at, source + at, part, stream_.handle()); });
}

void Transfer::fill(driver::DevicePtr target, int value, size_t bytes) {
  context_->check(context_->api().fill_bytes(target, static_cast<unsigned char>(value), bytes, stream_.handle()), "fill");
}

void Transfer::finish(const std::string& where) {
  Event done(context_, false);
  done.record(stream_);
  done.wait(where);
}

}  // namespace vd::cuda
