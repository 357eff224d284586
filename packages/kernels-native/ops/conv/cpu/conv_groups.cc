// A convolution of several groups as one convolution after the other, on views of the channels.
#include "../conv_groups.h"

#include <algorithm>
#include <vector>

#include "../../../native/cpu/fast_paths.h"

#include "conv_fast.h"

namespace vd::cpu {
namespace {

class ConvGroups final : public PreparedRow {
 public:
  explicit ConvGroups(std::vector<std::unique_ptr<PreparedRow>> groups) : groups_(std::move(groups)) {}

  const char* name() const override { return groups_.front()->name(); }
  size_t scratch_bytes() const override { return largest(&PreparedRow::scratch_bytes); }
  size_t shared_bytes() const override { return largest(&PreparedRow::shared_bytes); }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    for (const auto& group : groups_) group->run(pool, scratch);
  }

 private:
  size_t largest(size_t (PreparedRow::*bytes)() const) const {
    size_t most = 0;
    for (const auto& group : groups_) most = std::max(most, (group.get()->*bytes)());
    return most;
  }

  std::vector<std::unique_ptr<PreparedRow>> groups_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_conv_groups(const ConvArgs& args, PackCache& cache, const Target& target) {
  std::vector<std::unique_ptr<PreparedRow>> groups;
  for (int64_t i = 0; i < args.groups; ++i) {
    groups.push_back(prepare_conv(group_of(args, i), cache, target));
    if (groups.back() == nullptr) return nullptr;
  }
  return std::make_unique<ConvGroups>(std::move(groups));
}

}  // namespace vd::cpu
