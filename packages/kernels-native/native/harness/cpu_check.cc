#include "cpu_check.h"

#include <cstdio>
#include <cstring>

namespace vd::harness {
namespace {

std::string op_of(const std::string& name) { return name.substr(0, name.find(' ')); }

}  // namespace

ScratchBlocks::ScratchBlocks(int workers, size_t bytes) {
  for (int i = 0; i < workers; ++i) {
    blocks_.push_back(std::make_unique<cpu::AlignedBlock>(bytes));
    // All bits set are NaN in every float type: reading what was not written shows.
    std::memset(blocks_.back()->data(), 0xff, bytes);
  }
}

cpu::Scratch ScratchBlocks::scratch() {
  return {[](const cpu::Scratch& s, int worker) {
            return static_cast<ScratchBlocks*>(s.owner)->blocks_[static_cast<size_t>(worker)]->data();
          },
          this};
}

void Checker::fail(const Check& check, cpu::Isa isa, const std::string& why) {
  ++failures_;
  std::printf("FAIL %s [%s]: %s\n", check.name.c_str(), cpu::isa_name(isa), why.c_str());
}

void Checker::run_on(const Check& check, cpu::Isa isa, Worst& worst) {
  std::vector<std::vector<double>> first;
  for (int threads = 1; threads <= 2; ++threads) {
    cpu::PackCache cache;
    auto row = check.prepare(cache, isa);
    if (!row) return fail(check, isa, "declined");
    check.reset();
    cpu::ThreadPool pool(threads);
    ScratchBlocks blocks(threads, row->scratch_bytes());
    row->run(pool, blocks.scratch());
    for (size_t i = 0; i < check.outputs.size(); ++i) {
      const auto& output = check.outputs[i];
      const std::vector<double> got = output.tensor->values();
      const double error = relative_l2(got, output.want);
      double& most = worst.error[static_cast<int>(isa)];
      most = error > most ? error : most;
      if (!(error <= check.tolerance)) fail(check, isa, "relative error " + std::to_string(error * 1e6) + "e-6");
      if (!output.tensor->intact()) fail(check, isa, "wrote outside the output");
      if (threads == 1) first.push_back(got);
      if (threads == 2 && std::memcmp(first[i].data(), got.data(), got.size() * sizeof(double)) != 0) {
        fail(check, isa, "one and two threads differ");
      }
    }
    for (const TestTensor* input : check.inputs) {
      if (!input->intact()) fail(check, isa, "wrote around an input");
    }
  }
}

void Checker::run(const Check& check) {
  const std::string op = op_of(check.name);
  size_t at = 0;
  while (at < worst_.size() && worst_[at].op != op) ++at;
  if (at == worst_.size()) worst_.push_back({op});
  ++worst_[at].cases;
  for (int isa = 0; isa <= static_cast<int>(best_); ++isa) run_on(check, static_cast<cpu::Isa>(isa), worst_[at]);
}

int Checker::report() const {
  std::printf("%-18s %6s", "op", "cases");
  for (int isa = 0; isa <= static_cast<int>(best_); ++isa) {
    std::printf(" %10s", cpu::isa_name(static_cast<cpu::Isa>(isa)));
  }
  std::printf("   (worst relative L2 against float64)\n");
  for (const Worst& worst : worst_) {
    std::printf("%-18s %6d", worst.op.c_str(), worst.cases);
    for (int isa = 0; isa <= static_cast<int>(best_); ++isa) std::printf(" %10.1e", worst.error[isa]);
    std::printf("\n");
  }
  return failures_;
}

}  // namespace vd::harness
