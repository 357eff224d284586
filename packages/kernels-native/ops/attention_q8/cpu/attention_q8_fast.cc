// Attention over queries, keys and values that were rounded to 8 bits and back: copies in float32, which all rows of a program share, then
// the fast path of attention. Scores are as exact as those of float32.
#include <algorithm>
#include <vector>

#include "../../../native/cpu/code_scale.h"
#include "../../../native/cpu/inner_attention.h"

namespace vd::cpu {
namespace {

/** Channels of a head that are codes at a time. */
constexpr int64_t kMostCodes = 64;

class AttentionQ8 final : public PreparedRow {
 public:
  AttentionQ8(const AttentionQ8Args& args, PackCache& cache, const Target& target)
      : args_(args),
        cache_(cache),
        target_(target),
        kernels_(code_kernels_of(resolve_isa(target.isa))),
        inner_(attention(args.q, args.k, args.v)) {}

  bool serves() const { return inner_ != nullptr; }
  const char* name() const override { return "attention_q8_fast"; }
  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  size_t shared_bytes() const override { return copied_bytes() + inner_->shared_bytes(); }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    auto* at = reinterpret_cast<float*>(scratch.shared);
    const auto copied = [&](const Tensor& t, DType type) {
      const Tensor copy = as_floats(t, at);
      at += padded_floats(t.count());
      round(t, type, copy.as<float>(), pool);
      return copy;
    };
    const DType scores = args_.scores == AttentionScores::i8 ? DType::i8 : DType::f8e4m3;
    const Tensor q = copied(args_.q, scores), k = copied(args_.k, scores);
    const Tensor v = rounds_values() ? copied(args_.v, DType::f8e4m3) : args_.v;
    Scratch behind = scratch;
    behind.shared += copied_bytes();
    attention(q, k, v)->run(pool, behind);
  }

 private:
  bool rounds_values() const { return args_.values != AttentionValues::full; }
  size_t copied_bytes() const {
    const int64_t values = rounds_values() ? padded_floats(args_.v.count()) : 0;
    return static_cast<size_t>(padded_floats(args_.q.count()) + padded_floats(args_.k.count()) + values) * sizeof(float);
  }

  std::unique_ptr<PreparedRow> attention(const Tensor& q, const Tensor& k, const Tensor& v) const {
    AttentionArgs a{};
    a.q = q;
    a.k = k;
    a.v = v;
    a.y = args_.y;
    a.axis = AttentionAxis::space;
    a.heads = args_.heads;
    a.scale = args_.scale;
    return prepare_inner_attention(a, cache_, target_);
  }

  /** Each head of each frame of x [B,F,S,E] rounded to codes with a scale of its own, and back. */
  void round(const Tensor& x, DType type, float* out, ThreadPool& pool) const {
    const int64_t tokens = x.dim(2), channels = x.channels(), dim = channels / args_.heads;
    pool.parallel_for(x.dim(0) * x.dim(1) * args_.heads, [&](int64_t i, int) {
      const int64_t first = i / args_.heads * tokens, head = i % args_.heads * dim;
      int32_t largest = 0;
      for (int64_t s = first; s < first + tokens; ++s)
        largest = std::max(largest, kernels_.largest(x.as<float>() + s * x.pitch + head, dim));
      const float scale = code_scale(largest, type), inverse = 1.0f / scale;
      uint8_t codes[kMostCodes];
      for (int64_t s = first; s < first + tokens; ++s)
        for (int64_t d = 0; d < dim; d += kMostCodes) {
          const int64_t count = std::min(kMostCodes, dim - d);
          kernels_.encode(x.as<float>() + s * x.pitch + head + d, count, inverse, type, codes);
          kernels_.decode(codes, count, type, scale, out + s * channels + head + d);
        }
    });
  }

  AttentionQ8Args args_;
  PackCache& cache_;
  Target target_;
  const CodeKernels& kernels_;
  /** Of the row's sizes; never run. */
  std::unique_ptr<PreparedRow> inner_;
};

}  // namespace

/** Declines what is not float32. */
std::unique_ptr<PreparedRow> prepare_attention_q8(const AttentionQ8Args& args, PackCache& cache, const Target& target) {
  for (const Tensor* t : {&args.q, &args.k, &args.v, &args.y})
    if (t->dtype != DType::f32) return nullptr;
  auto row = std::make_unique<AttentionQ8>(args, cache, target);
  if (!row->serves()) return nullptr;
  return row;
}

}  // namespace vd::cpu
