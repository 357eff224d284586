// Attention over float32 copies: of 16-bit operands, and of queries and keys that are normalised or rotated. A copy takes as
// much memory as its tensor in float32, which all rows of a program share.
#include "../../../native/core/float_element.h"
#include "attention_fast.h"

namespace vd::cpu {
namespace {

constexpr int64_t kAlignFloats = 16;

class AttentionStaged final : public PreparedRow {
 public:
  AttentionStaged(const AttentionArgs& args, const Target& target)
      : args_(args), target_(target), inner_(make_attention_float(args, target)) {}

  const char* name() const override { return inner_->name(); }
  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  size_t shared_bytes() const override {
    int64_t floats = 0;
    for (const Tensor* t : {&args_.q, &args_.k, &args_.v, &args_.y}) floats += padded(t->count());
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    auto* at = reinterpret_cast<float*>(scratch.shared);
    const auto stage = [&at](Tensor& t) {
      t.data = at;
      t.dtype = DType::f32;
      t.pitch = t.channels();
      at += padded(t.count());
      return t.as<float>();
    };
    AttentionArgs staged = args_;
    transform_heads(args_.q, HeadTransform::of_queries(args_), stage(staged.q), pool);
    transform_heads(args_.k, HeadTransform::of_keys(args_), stage(staged.k), pool);
    if (args_.v.dtype != DType::f32) convert(args_.v, stage(staged.v), pool);
    if (args_.y.dtype != DType::f32) stage(staged.y);
    make_attention_float(staged, target_)->run(pool, scratch);
    if (args_.y.dtype != DType::f32) store(staged.y.as<float>(), pool);
  }

 private:
  static int64_t padded(int64_t floats) { return (floats + kAlignFloats - 1) / kAlignFloats * kAlignFloats; }

  /** The tensor as packed float32. */
  void convert(const Tensor& t, float* out, ThreadPool& pool) const {
    transform_heads(t, {{}, {}, 0, RotaryPairs::adjacent, args_.axis, args_.heads}, out, pool);
  }

  void store(const float* in, ThreadPool& pool) const {
    const Tensor& y = args_.y;
    const int64_t channels = y.channels(), tokens = y.dim(2);
    pool.parallel_for(y.dim(0) * y.dim(1), [&](int64_t frame, int) {
      for (int64_t pixel = frame * tokens; pixel < (frame + 1) * tokens; ++pixel) {
        for (int64_t c = 0; c < channels; ++c) store_element(y.data, y.dtype, pixel * y.pitch + c, in[pixel * channels + c]);
      }
    });
  }

  AttentionArgs args_;
  Target target_;
  /** Of the row's sizes; never run. */
  std::unique_ptr<PreparedRow> inner_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_attention_staged(const AttentionArgs& args, const Target& target) {
  return std::make_unique<AttentionStaged>(args, target);
}

}  // namespace vd::cpu
