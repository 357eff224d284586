#include "share_out.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace vd {

void share_out(int64_t count, int threads, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t index = next++; index < count; index = next++) body(index);
  };
  std::vector<std::thread> others;
  const int64_t most = std::min<int64_t>(threads, count) - 1;
  if (most > 0) others.reserve(static_cast<size_t>(most));
  try {
    for (int64_t i = 0; i < most; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that did start go on.
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace vd
