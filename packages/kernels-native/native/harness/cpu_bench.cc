// Checks and times the CPU backend without Node. Build, from native/ (flags by suffix as in the addon's build):
//   for f in cpu/*.cc harness/cpu_*.cc; do g++ -std=c++20 -O3 $(case $f in *_avx512.cc) echo -mavx512f -mavx512bw
//   -mavx512dq -mavx512vl -mfma -mf16c;; *_avx2.cc) echo -mavx2 -mfma -mf16c;; esac) -c $f ...; done; g++ *.o -pthread
// (without cpu/backend.cc). Usage: cpu_bench [check|time] [plain|avx2|avx512|amx] [cases, or part of a name] [threads]
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "cpu_check.h"
#include "cpu_timing.h"

int main(int argc, char** argv) {
  using namespace vd;
  const std::string mode = argc > 1 ? argv[1] : "check";
  cpu::Isa isa = cpu::best_isa();
  for (int i = 0; argc > 2 && i <= static_cast<int>(cpu::Isa::amx); ++i) {
    if (argv[2] == std::string(cpu::isa_name(static_cast<cpu::Isa>(i)))) isa = cpu::resolve_isa(static_cast<cpu::Isa>(i));
  }
  if (mode == "time") {
    harness::time_all(isa, argc > 3 ? argv[3] : "", argc > 4 ? std::atoi(argv[4]) : 2);
    return 0;
  }
  harness::Checker checker(isa);
  harness::Random random(7);
  const int count = argc > 3 ? std::atoi(argv[3]) : 60;
  harness::check_activations(checker);
  harness::check_linear(checker, random, count);
  harness::check_conv(checker, random, count);
  harness::check_attention(checker, random, count);
  harness::check_norms(checker, random, count);
  harness::check_pointwise(checker, random, count);
  const int failures = checker.report();
  std::printf("%s\n", failures == 0 ? "all checks passed" : "CHECKS FAILED");
  return failures == 0 ? 0 : 1;
}
