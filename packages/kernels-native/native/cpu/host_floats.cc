#include "host_floats.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "../core/float_element.h"
#include "../core/kept_memory.h"
#include "../core/thread_pool.h"
#include "cpu_features.h"
#include "float_kernels.h"

namespace vd::cpu {
namespace {

/** Bytes that one thread converts before others are worth their start. */
constexpr size_t kAloneBytes = size_t{8} << 20;

/** Bytes that are written at a time: they stay in a cache until they are sent. */
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
  /** A pixel of the region fits into a block. */
  Reader(const Memory& memory, const FloatRegion& region, float* values)
      : memory_(memory), r_(region), values_(values), item_(static_cast<size_t>(bytes_of(region.dtype))) {}

  /** Returns the index of the first pixel of a share that has an element that is not finite; others behind it are not counted. */
  size_t run() {
    const size_t stride = r_.pitch * item_, bytes = (r_.pixels - 1) * stride + r_.channels * item_;
    if (bytes > kAloneBytes && converting_threads() > 1) start_threads();
    memory_.read_in_blocks(r_.byteOffset, bytes, stride, [&](const std::byte* stored, size_t at, size_t some) {
      convert(stored, at / stride, (some + stride - 1) / stride);
    });
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

/** Reads a region whose pixels fit into a block. */
size_t read_pixels(const Memory& memory, const FloatRegion& region, float* values) {
  const size_t count = region.pixels * region.channels;
  // A share that has such an element begins before it.
  for (size_t i = Reader(memory, region, values).run() * region.channels; i < count; ++i)
    if (!std::isfinite(values[i])) return i;
  return count;
}

/** Pixels whose channels stay in a cache while they are told apart. */
constexpr size_t kPixelsAtOnce = 1024;

/** Writes packed pixels as planes of `planePixels`. */
void split_planes(const float* pixels, const FloatRegion& r, float* planes) {
  for (size_t begin = 0; begin < r.pixels; begin += r.planePixels)
    for (size_t at = 0; at < r.planePixels; at += kPixelsAtOnce) {
      const size_t end = std::min(at + kPixelsAtOnce, r.planePixels);
      const float* from = pixels + begin * r.channels;
      for (size_t channel = 0; channel < r.channels; ++channel) {
        float* plane = planes + begin * r.channels + channel * r.planePixels;
        for (size_t i = at; i < end; ++i) plane[i] = from[i * r.channels + channel];
      }
    }
}

/** Reads a region as planes. */
size_t read_planes(const Memory& memory, const FloatRegion& r, float* planes) {
  const size_t count = r.pixels * r.channels;
  const auto packed = borrow_memory(count * sizeof(float));
  auto* const pixels = reinterpret_cast<float*>(packed.get());
  const size_t first = read_floats(memory, {r.byteOffset, r.dtype, r.pixels, r.channels, r.pitch}, pixels);
  split_planes(pixels, r, planes);
  if (first == count) return count;
  return static_cast<size_t>(std::find_if(planes, planes + count, [](float value) { return !std::isfinite(value); }) - planes);
}

}  // namespace

size_t read_floats(const Memory& memory, const FloatRegion& r, float* values) {
  if (r.planePixels != 0) return read_planes(memory, r, values);
  const auto item = static_cast<size_t>(bytes_of(r.dtype));
  const size_t count = r.pixels * r.channels;
  if (r.pitch == r.channels) return read_pixels(memory, {r.byteOffset, r.dtype, count, 1, 1}, values);
  if (r.pitch <= Memory::kMostUnit / item) return read_pixels(memory, r, values);
  size_t first = count;
  for (size_t i = 0; i < r.pixels; ++i) {
    const FloatRegion pixel{r.byteOffset + i * r.pitch * item, r.dtype, r.channels, 1, 1};
    const size_t found = read_pixels(memory, pixel, values + i * r.channels);
    if (found < r.channels) first = std::min(first, i * r.channels + found);
  }
  return first;
}

float write_floats(Memory& memory, size_t offset, DType dtype, const float* values, size_t count) {
  const FloatKernels& kernels = float_kernels_of(best_isa());
  if (dtype == DType::f32) {
    memory.write(offset, values, count * sizeof(float));
    return kernels.largest(values, static_cast<int64_t>(count));
  }
  float largest = 0;
  const auto item = static_cast<size_t>(bytes_of(dtype));
  const size_t perBlock = std::min(count, kBlockBytes / item);
  const std::unique_ptr<std::byte[]> block(new std::byte[perBlock * item]);
  for (size_t at = 0; at < count; at += perBlock) {
    const size_t some = std::min(perBlock, count - at);
    kernels.narrow(values + at, dtype, static_cast<int64_t>(some), block.get());
    memory.write(offset + at * item, block.get(), some * item);
    const float found = kernels.largest(values + at, static_cast<int64_t>(some));
    // Nothing is above NaN.
    if (!(found <= largest)) largest = std::isnan(largest) ? largest : found;
  }
  return largest;
}

}  // namespace vd::cpu
