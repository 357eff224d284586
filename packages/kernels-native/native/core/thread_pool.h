// A fixed team of threads that shares out the indices of a loop.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace vd {

/** Runs loops on `threads` threads, the caller being worker 0. Between loops the others spin for a moment, since rows of
 *  a program follow each other within microseconds, then sleep. One loop at a time; a task must not start another. */
class ThreadPool {
 public:
  /** Starts threads − 1 threads; fewer than one counts as one. Throws std::system_error when a thread cannot start. */
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /** Workers that a loop may use, the caller included. */
  int threads() const { return threads_; }

  /** Calls fn(index, worker) once for each index in [0, count), in any order, and returns when all are done. The first
   *  exception of a task is rethrown here; tasks not yet begun are then skipped. */
  template <class Fn> void parallel_for(int64_t count, Fn&& fn) {
    using Body = std::remove_reference_t<Fn>;
    run(count, const_cast<void*>(static_cast<const void*>(&fn)),
        [](void* body, int64_t index, int worker) { (*static_cast<Body*>(body))(index, worker); });
  }

 private:
  using Call = void (*)(void* body, int64_t index, int worker);

  void run(int64_t count, void* body, Call call);
  void open(uint32_t count, int64_t first, void* body, Call call);
  void wait_until_done(uint32_t count);
  /** Keeps threads that are about to wake off the caller's processor: the system likes to wake them there, and they wait while the caller
   *  does their work. Under sleepMutex_. */
  void place_team();
  bool run_next(int worker);
  /** Runs indices that a thread has taken; none behind one that throws. */
  void run_indices(int64_t first, uint32_t count, void* body, Call call, int worker);
  void work(int worker);
  bool has_work(uint64_t ticket) const;
  void fail(std::exception_ptr error);

  int threads_ = 1;
  std::vector<std::thread> team_;
  std::mutex callMutex_;

  // The open loop. A ticket is (round << 32 | next index); taking one by compare-exchange proves that the fields read
  // before it belong to that round, because they change only while the ticket is closed.
  std::atomic<uint64_t> ticket_;
  std::atomic<uint32_t> count_{0};
  std::atomic<int64_t> first_{0};
  std::atomic<void*> body_{nullptr};
  std::atomic<Call> call_{nullptr};
  std::atomic<uint32_t> done_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;

  std::mutex sleepMutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::atomic<int> sleepers_{0};
  std::vector<int> teamNumbers_;  // of all threads but the caller's
  int callerProcessor_ = -1;  // that the team was last kept off
  std::atomic<bool> callerSleeps_{false};
  std::atomic<bool> stop_{false};
};

}  // namespace vd
