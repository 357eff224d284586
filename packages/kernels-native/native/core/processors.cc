#include "processors.h"

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace vd {

#if defined(__linux__)

int thread_number() { return static_cast<int>(syscall(SYS_gettid)); }

int current_processor() { return sched_getcpu(); }

int usable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(CPU_COUNT(&allowed), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

void keep_off(int processor, const std::vector<int>& threads) {
  cpu_set_t allowed;
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_CLR(processor, &allowed);
  if (CPU_COUNT(&allowed) == 0) return;
  for (const int thread : threads) sched_setaffinity(thread, sizeof allowed, &allowed);
}

#else

int thread_number() { return 0; }

int current_processor() { return -1; }

int usable_processors() { return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1); }

void keep_off(int, const std::vector<int>&) {}

#endif

}  // namespace vd
