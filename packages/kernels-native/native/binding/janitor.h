// A thread that gives large blocks back to the operating system: that takes milliseconds, which garbage collection would
// otherwise spend on the event loop.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace vd::binding {

class Janitor {
 public:
  Janitor() = default;
  /** Frees what is left. */
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  /** Lets go of `block` on the thread, which starts with the first; at once where no thread can start. */
  void take(std::shared_ptr<void> block) noexcept;

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<void>> blocks_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace vd::binding
