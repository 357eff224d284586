// Holds every fast CPU op against the naive formula on random data.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../cpu/fast_ops.h"
#include "cpu_naive.h"

namespace vd::harness {

/** One op on one set of arguments: how to prepare it, what it writes and what that should be. */
struct Check {
  std::string name;
  double tolerance;  // relative L2
  std::function<std::unique_ptr<cpu::PreparedRow>(cpu::PackCache&, cpu::Isa)> prepare;
  std::function<void()> reset;  // puts outputs and in-place inputs back to their start
  struct Output {
    TestTensor* tensor;
    std::vector<double> want;
  };
  std::vector<Output> outputs;
  std::vector<const TestTensor*> inputs;
};

/** Runs checks on all instruction sets of the machine, on one and on two threads, and keeps the worst errors. */
class Checker {
 public:
  explicit Checker(cpu::Isa best) : best_(best) {}
  void run(const Check& check);
  /** Prints one line per op and instruction set; returns the number of failures. */
  int report() const;

 private:
  struct Worst {
    std::string op;
    double error[4] = {};
    int cases = 0;
  };
  void fail(const Check& check, cpu::Isa isa, const std::string& why);
  void run_on(const Check& check, cpu::Isa isa, Worst& worst);

  cpu::Isa best_;
  int failures_ = 0;
  std::vector<Worst> worst_;
};

void check_conv(Checker& checker, Random& random, int count);
void check_linear(Checker& checker, Random& random, int count);
void check_attention(Checker& checker, Random& random, int count);
void check_norms(Checker& checker, Random& random, int count);
void check_pointwise(Checker& checker, Random& random, int count);
/** Activations over the whole float range, by relative error per element. */
void check_activations(Checker& checker);

/** Memory for workers' scratch, poisoned before each run. */
class ScratchBlocks {
 public:
  ScratchBlocks(int workers, size_t bytes);
  cpu::Scratch scratch();

 private:
  std::vector<std::unique_ptr<cpu::AlignedBlock>> blocks_;
};

}  // namespace vd::harness
