#include "janitor.h"

#include <exception>
#include <utility>

namespace vd::binding {

Janitor::~Janitor() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Janitor::take(std::shared_ptr<void> block) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    blocks_.push_back(std::move(block));
  } catch (const std::exception&) {
    return;  // No thread or no memory: the block goes with its last owner, this call.
  }
  wake_.notify_one();
}

void Janitor::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopped_ || !blocks_.empty(); });
    if (blocks_.empty()) return;
    std::vector<std::shared_ptr<void>> taken = std::exchange(blocks_, {});
    lock.unlock();
    taken.clear();
    lock.lock();
  }
}

}  // namespace vd::binding
