#include "thread_pool.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "processors.h"

namespace vd {
namespace {

constexpr uint32_t kClosed = 0xffffffffu;
/** Largest loop that one round's 32-bit indices serve; longer ones take several rounds. */
constexpr int64_t kRoundLimit = int64_t{1} << 31;
/** How long a thread spins before it sleeps: about what waking it costs. */
constexpr auto kSpin = std::chrono::microseconds(60);
constexpr int kPausesPerClock = 32;
/** A thread takes this part of its share of what is left of a loop at once, so that ever fewer indices are taken. One by one, threads wait
 * for each other's tickets: 600 indices of 4 us on two cores of a Zen 5 took 3 % longer. */
constexpr int64_t kShareParts = 8;

constexpr uint64_t ticket_of(uint32_t round, uint32_t index) { return (static_cast<uint64_t>(round) << 32) | index; }
constexpr uint32_t round_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr uint32_t index_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

/** Tells the processor that the thread spins, so that it leaves its units to the core's other thread. */
inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/** Spins until `ready` holds or the spin time is over; says which. */
template <class Ready> bool spin_until(Ready&& ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPausesPerClock; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)), ticket_(ticket_of(0, kClosed)) {
  team_.reserve(static_cast<size_t>(threads_ - 1));
  try {
    for (int worker = 1; worker < threads_; ++worker) team_.emplace_back([this, worker] { work(worker); });
  } catch (...) {
    // The destructor does not run for a half-built object, and a joinable std::thread must not die.
    {
      std::lock_guard lock(sleepMutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& thread : team_) thread.join();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(sleepMutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& thread : team_) thread.join();
}

void ThreadPool::run(int64_t count, void* body, Call call) {
  if (count <= 0) return;
  std::lock_guard oneLoop(callMutex_);
  if (threads_ == 1 || count == 1) {
    for (int64_t i = 0; i < count; ++i) call(body, i, 0);
    return;
  }
  for (int64_t first = 0; first < count; first += kRoundLimit) {
    const auto size = static_cast<uint32_t>(std::min(kRoundLimit, count - first));
    open(size, first, body, call);
    while (run_next(0)) {
    }
    wait_until_done(size);
    if (failed_) break;
  }
  if (!failed_) return;
  std::exception_ptr error;
  {
    std::lock_guard lock(sleepMutex_);
    std::swap(error, error_);
    failed_ = false;
  }
  std::rethrow_exception(error);
}

void ThreadPool::open(uint32_t count, int64_t first, void* body, Call call) {
  const uint32_t round = round_of(ticket_.load()) + 1;
  ticket_.store(ticket_of(round, kClosed));
  count_.store(count);
  first_.store(first);
  body_.store(body);
  call_.store(call);
  done_.store(0);
  ticket_.store(ticket_of(round + 1, 0));
  // A worker counts itself asleep before it looks at the ticket for the last time, so one of both sees the other.
  if (sleepers_.load() > 0) {
    std::lock_guard lock(sleepMutex_);
    place_team();
    wake_.notify_all();
  }
}

void ThreadPool::place_team() {
  const int processor = current_processor();
  if (processor == callerProcessor_) return;
  callerProcessor_ = processor;
  keep_off(processor, teamNumbers_);
}

bool ThreadPool::has_work(uint64_t ticket) const { return index_of(ticket) < count_.load() && index_of(ticket) != kClosed; }

bool ThreadPool::run_next(int worker) {
  uint64_t ticket = ticket_.load();
  for (;;) {
    const uint32_t count = count_.load();
    const int64_t first = first_.load();
    void* body = body_.load();
    const Call call = call_.load();
    const uint32_t index = index_of(ticket);
    if (index == kClosed || index >= count) return false;
    const auto taken = static_cast<uint32_t>(std::max<int64_t>(1, (count - index) / (kShareParts * threads_)));
    if (!ticket_.compare_exchange_weak(ticket, ticket + taken)) continue;
    run_indices(first + index, taken, body, call, worker);
    if (done_.fetch_add(taken) + taken == count && callerSleeps_.load()) {
      std::lock_guard lock(sleepMutex_);
      finished_.notify_all();
    }
    return true;
  }
}

void ThreadPool::run_indices(int64_t first, uint32_t count, void* body, Call call, int worker) {
  for (int64_t i = first; i < first + count && !failed_.load(); ++i) {
    try {
      call(body, i, worker);
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

void ThreadPool::fail(std::exception_ptr error) {
  std::lock_guard lock(sleepMutex_);
  if (failed_) return;
  error_ = std::move(error);
  failed_ = true;
}

void ThreadPool::wait_until_done(uint32_t count) {
  const auto done = [&] { return done_.load() == count; };
  if (spin_until(done)) return;
  std::unique_lock lock(sleepMutex_);
  callerSleeps_ = true;
  finished_.wait(lock, done);
  callerSleeps_ = false;
}

void ThreadPool::work(int worker) {
  const auto ready = [this] { return stop_.load() || has_work(ticket_.load()); };
  {
    std::lock_guard lock(sleepMutex_);
    teamNumbers_.push_back(thread_number());
    callerProcessor_ = -1;  // the team that was placed did not have this thread
  }
  while (!stop_.load()) {
    if (run_next(worker)) continue;
    if (spin_until(ready)) continue;
    std::unique_lock lock(sleepMutex_);
    sleepers_.fetch_add(1);
    wake_.wait(lock, ready);
    sleepers_.fetch_sub(1);
  }
}

}  // namespace vd
