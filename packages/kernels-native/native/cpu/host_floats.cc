#include "host_floats.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "../core/float_element.h"
#include "../core/thread_pool.h"
#include "cpu_features.h"
#include "float_kernels.h"

namespace vd::cpu {
namespace {

/** What is read at a time: it stays in a cache until it is converted. */
constexpr size_t kBlockBytes = size_t{8} << 20;

/** Bytes that a thread converts at a time. */
constexpr size_t kShareBytes = size_t{256} << 10;

/** One thread converts more slowly than a device sends, above all where it touches pages of `values` for the first time. */
int converting_threads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8); }

/** Pixels as they are stored, and where their numbers go. */
struct Piece {
  const std::byte* stored;
  float* values;
  size_t pixels;
};

class Reader {
 public:
  Reader(const Memory& memory, const FloatRegion& region, float* values)
      : memory_(memory), r_(region), values_(values), item_(static_cast<size_t>(bytes_of(region.dtype))) {}

  /** Returns the index of the first pixel of a share that has an element that is not finite; others behind it are not counted. */
  size_t run() {
    const size_t stride = r_.pitch * item_, perBlock = std::clamp<size_t>(kBlockBytes / stride, 1, r_.pixels);
    if (r_.pixels * stride > kBlockBytes && converting_threads() > 1) start_threads();
    const auto blockBytes = span(perBlock);
    const std::unique_ptr<std::byte[]> blocks[2] = {
        std::unique_ptr<std::byte[]>(new std::byte[blockBytes]),
        std::unique_ptr<std::byte[]>(r_.pixels > perBlock ? new std::byte[blockBytes] : nullptr)};
    const auto read = [&](size_t at, std::byte* block) {
      memory_.read(r_.byteOffset + at * stride, block, span(std::min(perBlock, r_.pixels - at)));
    };
    read(0, blocks[0].get());
    for (size_t at = 0, turn = 0; at < r_.pixels; at += perBlock, turn ^= 1) {
      // The next block comes while this one is converted, or afterwards where the system gives no thread.
      std::future<void> next;
      if (at + perBlock < r_.pixels)
        next = std::async(std::launch::async | std::launch::deferred, read, at + perBlock, blocks[turn ^ 1].get());
      convert(blocks[turn].get(), at, std::min(perBlock, r_.pixels - at));
      if (next.valid()) next.get();
    }
    return firstOutside_;
  }

 private:
  /** Without them, where the system gives none, the caller converts alone. */
  void start_threads() {
    try {
      threads_.emplace(converting_threads());
    } catch (const std::system_error&) {
    }
  }

  /** Bytes from the first element of some pixels to their last. */
  size_t span(size_t pixels) const { return ((pixels - 1) * r_.pitch + r_.channels) * item_; }

  void convert(const std::byte* stored, size_t begin, size_t pixels) {
    const size_t stride = r_.pitch * item_, perShare = std::max<size_t>(kShareBytes / stride, 1);
    const auto share = [&](int64_t index, int) {
      const size_t at = static_cast<size_t>(index) * perShare;
      if (!widened({stored + at * stride, values_ + (begin + at) * r_.channels, std::min(perShare, pixels - at)})) found(begin + at);
    };
    const auto shares = static_cast<int64_t>((pixels + perShare - 1) / perShare);
    if (threads_) return threads_->parallel_for(shares, share);
    for (int64_t index = 0; index < shares; ++index) share(index, 0);
  }

  /** Converts a piece. Returns whether all of it is finite. */
  bool widened(const Piece& piece) const {
    if (r_.pitch == r_.channels)
      return kernels_.widen(piece.stored, r_.dtype, static_cast<int64_t>(piece.pixels * r_.channels), piece.values);
    bool finite = true;
    for (size_t i = 0; i < piece.pixels; ++i)
      finite &=
          kernels_.widen(piece.stored + i * r_.pitch * item_, r_.dtype, static_cast<int64_t>(r_.channels), piece.values + i * r_.channels);
    return finite;
  }

  void found(size_t pixel) {
    size_t first = firstOutside_.load();
    while (pixel < first && !firstOutside_.compare_exchange_weak(first, pixel)) {
    }
  }

  const Memory& memory_;
  const FloatRegion& r_;
  float* values_;
  size_t item_;
  const FloatKernels& kernels_ = float_kernels_of(best_isa());
  std::optional<ThreadPool> threads_;
  std::atomic<size_t> firstOutside_{r_.pixels};
};

}  // namespace

size_t read_floats(const Memory& memory, const FloatRegion& region, float* values) {
  const size_t count = region.pixels * region.channels;
  // A share that has such an element begins before it.
  for (size_t i = Reader(memory, region, values).run() * region.channels; i < count; ++i)
    if (!std::isfinite(values[i])) return i;
  return count;
}

void write_floats(Memory& memory, size_t offset, DType dtype, const float* values, size_t count) {
  if (dtype == DType::f32) return memory.write(offset, values, count * sizeof(float));
  const FloatKernels& kernels = float_kernels_of(best_isa());
  const auto item = static_cast<size_t>(bytes_of(dtype));
  const size_t perBlock = std::min(count, kBlockBytes / item);
  const std::unique_ptr<std::byte[]> block(new std::byte[perBlock * item]);
  for (size_t at = 0; at < count; at += perBlock) {
    const size_t some = std::min(perBlock, count - at);
    kernels.narrow(values + at, dtype, static_cast<int64_t>(some), block.get());
    memory.write(offset + at * item, block.get(), some * item);
  }
}

}  // namespace vd::cpu
