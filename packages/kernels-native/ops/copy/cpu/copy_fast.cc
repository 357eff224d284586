// Tokens copied whole.
#include <algorithm>
#include <cstring>

#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {
namespace {

/** Elements that a task takes, in whole tokens. */
constexpr int64_t kTaskElements = 16384;

class Copy final : public PreparedRow {
 public:
  explicit Copy(const CopyArgs& args) : args_(args) {}

  const char* name() const override { return "copy_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const int64_t tokens = args_.x.pixels(), C = args_.x.channels(), block = std::max<int64_t>(1, kTaskElements / C);
    const bool isPacked = args_.x.pitch == C && args_.y.pitch == C;
    pool.parallel_for((tokens + block - 1) / block, [&](int64_t task, int) {
      const int64_t first = task * block, end = std::min(tokens, first + block);
      if (isPacked) return copy(first, (end - first) * C);
      for (int64_t token = first; token < end; ++token) copy(token, C);
    });
  }

 private:
  void copy(int64_t token, int64_t count) const {
    std::memmove(args_.y.as<float>() + token * args_.y.pitch, args_.x.as<float>() + token * args_.x.pitch,
                 static_cast<size_t>(count) * sizeof(float));
  }

  CopyArgs args_;
};

}  // namespace

/** y may be x. Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_copy(const CopyArgs& args, PackCache&, const Target&) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<Copy>(args);
}

}  // namespace vd::cpu
