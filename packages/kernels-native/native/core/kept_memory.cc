#include "kept_memory.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include "os_memory.h"

namespace vd {
namespace {

/** Below, the heap keeps pages itself. */
constexpr size_t kLeastBlock = size_t{128} << 10;
/** Blocks are this large or a multiple, so that most fit whatever comes next; the system makes them of large pages. */
constexpr size_t kBlockUnit = size_t{4} << 20;
/** Bytes of all blocks that wait for the next one who borrows. */
constexpr size_t kMostKept = size_t{16} << 20;

struct Block {
  std::byte* data = nullptr;
  size_t bytes = 0;
};

/** Blocks that wait, those that came last at the end. */
class Shelf {
 public:
  Shelf() { blocks_.reserve(kMostKept / kBlockUnit); }

  /** The block of at least `bytes` that came last, of which caches know most; none where all are smaller. */
  Block take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Block& block) { return block.bytes >= bytes; });
    if (found == blocks_.rend()) return {};
    const Block block = *found;
    remove(std::next(found).base());
    return block;
  }

  /** Gives those that came first back to the system where there are too many. */
  void put(Block block) noexcept {
    if (block.bytes > kMostKept) return os::release_pages(block.data, block.bytes);
    const std::lock_guard lock(mutex_);
    while (bytes_ + block.bytes > kMostKept) {
      os::release_pages(blocks_.front().data, blocks_.front().bytes);
      remove(blocks_.begin());
    }
    blocks_.push_back(block);
    bytes_ += block.bytes;
  }

 private:
  void remove(std::vector<Block>::iterator block) {
    bytes_ -= block->bytes;
    blocks_.erase(block);
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;
  size_t bytes_ = 0;
};

/** Never destroyed: workers may hold blocks when the process ends. */
Shelf& shelf() {
  static Shelf& only = *new Shelf;
  return only;
}

Block new_block(size_t bytes) {
  auto* data = static_cast<std::byte*>(os::reserve_huge_pages(bytes));
  if (data == nullptr) throw std::bad_alloc();
  return {data, bytes};
}

}  // namespace

std::shared_ptr<std::byte[]> borrow_memory(size_t bytes) {
  if (bytes < kLeastBlock) return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
  const size_t wanted = (bytes + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
  const Block kept = shelf().take(wanted);
  const Block block = kept.data != nullptr ? kept : new_block(wanted);
  return {block.data, [block](std::byte*) { shelf().put(block); }};
}

}  // namespace vd
