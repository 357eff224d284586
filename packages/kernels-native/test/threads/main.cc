// Works the classes that several threads use at once as hard as it can. Built with a sanitizer, which reports races;
// `tooling/sanitizers` does so.
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../../native/binding/janitor.h"
#include "../../native/core/kept_memory.h"
#include "../../native/core/processors.h"
#include "../../native/core/share_out.h"
#include "../../native/core/thread_pool.h"
#include "../../native/cpu/pack_cache.h"
#include "expect.h"

namespace {

constexpr int kCallers = 4;

/** Runs `body(caller)` on kCallers threads at once and waits for all. */
template <class Body> void from_all_sides(Body&& body) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) callers.emplace_back([&body, caller] { body(caller); });
  for (std::thread& thread : callers) thread.join();
}

/** Loops of many lengths, longer ones so that workers fall asleep between them; each writes plain memory. */
void loops_share_their_indices() {
  vd::ThreadPool pool(4);
  from_all_sides([&](int caller) {
    for (int64_t round = 0; round < 3000; ++round) {
      const int64_t count = (round * 37 + caller) % 200;
      std::vector<int> visits(static_cast<size_t>(count));
      std::vector<int64_t> sums(static_cast<size_t>(pool.threads()));
      pool.parallel_for(count, [&](int64_t i, int worker) {
        ++visits[static_cast<size_t>(i)];
        sums[static_cast<size_t>(worker)] += i;
      });
      int64_t sum = 0;
      for (const int64_t part : sums) sum += part;
      for (const int visit : visits) expect(visit == 1, "every index once");
      expect(sum == count * (count - 1) / 2, "every worker's sum");
      if (round % 50 == caller) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

/** A task that fails ends its own loop alone. */
void failures_reach_their_caller() {
  vd::ThreadPool pool(3);
  from_all_sides([&](int caller) {
    for (int64_t round = 0; round < 1000; ++round) {
      const bool fails = (round + caller) % 3 == 0;
      bool failed = false;
      try {
        pool.parallel_for(64, [&](int64_t i, int) {
          if (fails && i == round % 64) throw std::runtime_error("as asked");
        });
      } catch (const std::runtime_error&) {
        failed = true;
      }
      expect(failed == fails, "an exception for the loop that threw");
    }
  });
}

/** Teams that come and go, with and without work. */
void teams_come_and_go() {
  for (int round = 0; round < 200; ++round) {
    vd::ThreadPool pool(1 + round % 4);
    std::atomic<int> done{0};
    if (round % 3 != 0) pool.parallel_for(round, [&](int64_t, int) { ++done; });
    expect(done == (round % 3 != 0 ? round : 0), "all tasks of a short-lived team");
  }
}

/** A loop that is shared out once: of any length, by any number of threads, and each caller's by its own. */
void loops_are_shared_out_once() {
  from_all_sides([&](int caller) {
    for (int64_t round = 0; round < 300; ++round) {
      std::vector<int> visits(static_cast<size_t>((round * 37 + caller) % 200));
      vd::share_out(static_cast<int64_t>(visits.size()), static_cast<int>(round % 6), [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
      for (const int visit : visits) expect(visit == 1, "every index once");
    }
  });
}

#if defined(__linux__)
cpu_set_t processors_of(int thread) {
  cpu_set_t allowed;
  expect(sched_getaffinity(thread, sizeof allowed, &allowed) == 0, "the processors of a thread");
  return allowed;
}

/** Threads keep off one processor of those that the caller has, and stay where they are if that was its only one. */
void threads_keep_off_a_processor() {
  const cpu_set_t before = processors_of(0);
  const int mine = vd::current_processor();
  std::atomic<int> number{0};
  std::atomic<bool> ends{false};
  std::thread other([&] {
    number = vd::thread_number();
    while (!ends) std::this_thread::yield();
  });
  while (number == 0) std::this_thread::yield();
  vd::keep_off(mine, {number});
  cpu_set_t expected = before;
  if (CPU_COUNT(&before) > 1) CPU_CLR(mine, &expected);
  const cpu_set_t first = processors_of(number);
  expect(CPU_EQUAL(&first, &expected), "all processors but the one");
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(mine, &only);
  expect(sched_setaffinity(0, sizeof only, &only) == 0, "a caller with one processor");
  vd::keep_off(mine, {number});
  const cpu_set_t second = processors_of(number);
  expect(CPU_EQUAL(&second, &expected), "the processors of before");
  expect(vd::usable_processors() == 1, "as many processors as the caller has");
  sched_setaffinity(0, sizeof before, &before);
  expect(vd::usable_processors() == CPU_COUNT(&before), "all processors again");
  ends = true;
  other.join();
}
#endif

/** Every block that the janitor took is freed once, those that are left when it goes too. */
void the_janitor_frees_everything() {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> freed{0};
    {
      vd::binding::Janitor janitor;
      from_all_sides([&](int) {
        for (int i = 0; i < 50; ++i) {
          janitor.take(std::shared_ptr<void>(new int(i), [&freed](int* block) {
            *block = -1;
            delete block;
            ++freed;
          }));
        }
      });
    }
    expect(freed == kCallers * 50, "as many blocks freed as taken");
  }
}

/** Memory is lent to one at a time, small and large, more of it than is kept, and let go of by another thread. */
void memory_is_lent_to_one_at_a_time() {
  from_all_sides([](int caller) {
    const std::byte mark{static_cast<unsigned char>(caller + 1)};
    for (size_t round = 0; round < 40; ++round) {
      const size_t bytes = (round * 911 + 1) << (round % 3 * 4);
      auto block = vd::borrow_memory(bytes);
      std::fill_n(block.get(), bytes, mark);
      std::this_thread::yield();
      expect(std::all_of(block.get(), block.get() + bytes, [&](std::byte each) { return each == mark; }), "what its borrower wrote");
      if (round % 4 == 0) std::thread([last = std::move(block)]() mutable { last.reset(); }).join();
    }
  });
}

/** Large memory comes again once nobody has it, not before. */
void lent_memory_is_used_again() {
  constexpr size_t kLarge = size_t{1} << 20;
  const auto first = vd::borrow_memory(kLarge);
  auto second = vd::borrow_memory(kLarge);
  expect(first != second, "two blocks for two borrowers");
  const std::byte* const before = second.get();
  second.reset();
  expect(vd::borrow_memory(2 * kLarge).get() == before, "the block of before");
}

/** Programs that compile at once share packings, which are made once while anybody holds them, in parts by all workers. */
void packings_are_shared() {
  vd::ThreadPool pool(3);
  vd::cpu::PackCache cache(&pool);
  std::atomic<int> made{0};
  const auto take = [&](int64_t variant) {
    return cache.find_or_make({&cache, 0, variant, 0}, 64, [&](std::byte* bytes) {
      ++made;
      cache.in_parts(4, [&](int64_t part) {
        for (int64_t i = 16 * part; i < 16 * (part + 1); ++i) bytes[i] = static_cast<std::byte>(variant);
      });
    });
  };
  const auto held = take(0);
  from_all_sides([&](int) {
    for (int64_t i = 0; i < 4000; ++i) {
      const auto block = take(i % 5);
      expect(block->data()[63] == static_cast<std::byte>(i % 5), "the packing of the key that was asked for");
      expect(cache.bytes() >= 64, "the bytes of what is held");
    }
  });
  const int before = made;
  expect(take(0) == held && made == before, "no second packing of what is held");
}

}  // namespace

int main() {
  loops_share_their_indices();
  failures_reach_their_caller();
  teams_come_and_go();
  loops_are_shared_out_once();
#if defined(__linux__)
  threads_keep_off_a_processor();
#endif
  the_janitor_frees_everything();
  memory_is_lent_to_one_at_a_time();
  lent_memory_is_used_again();
  packings_are_shared();
  std::puts("threads: all well");
}
