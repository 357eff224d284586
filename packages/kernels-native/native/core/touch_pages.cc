#include "touch_pages.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>
#include <thread>

#include "thread_pool.h"

namespace vd {
namespace {

/** What one thread touches at a time: a few large pages. */
constexpr size_t kShare = size_t{16} << 20;
/** No system has smaller pages. */
constexpr size_t kPage = 4096;

/** A page that nobody has touched holds zeros, for which it takes zeros; others stay as they are. */
void touch_share(std::byte* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPage) {
    uint8_t zero = 0;
    __atomic_compare_exchange_n(reinterpret_cast<uint8_t*>(data + at), &zero, uint8_t{0}, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

}  // namespace

int copying_threads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8); }

void touch_pages(std::byte* data, size_t bytes) {
  const auto shares = static_cast<int64_t>((bytes + kShare - 1) / kShare);
  const auto touch = [&](int64_t share, int) {
    const size_t begin = static_cast<size_t>(share) * kShare;
    touch_share(data + begin, std::min(kShare, bytes - begin));
  };
  std::optional<ThreadPool> threads;
  try {
    if (shares > 1) threads.emplace(static_cast<int>(std::min<int64_t>(copying_threads(), shares)));
  } catch (const std::system_error&) {
    // The system gives no threads: the caller does it alone.
  }
  if (threads) return threads->parallel_for(shares, touch);
  for (int64_t share = 0; share < shares; ++share) touch(share, 0);
}

}  // namespace vd
