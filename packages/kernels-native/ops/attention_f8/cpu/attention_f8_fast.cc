// Attention over float8 codes: copies of what they stand for in float32, which all rows of a program share, then the fast path of
// attention.
#include <algorithm>

#include "../../../native/cpu/code_kernels.h"
#include "../../../native/cpu/fast_paths.h"

namespace vd::cpu {
namespace {

constexpr int64_t kAlignFloats = 16;

class AttentionF8 final : public PreparedRow {
 public:
  AttentionF8(const AttentionF8Args& args, PackCache& cache, const Target& target)
      : args_(args),
        cache_(cache),
        target_{target.isa, Math::exact},
        kernels_(code_kernels_of(resolve_isa(target.isa))),
        inner_(attention(as_floats(args.q, nullptr), as_floats(args.k, nullptr), as_floats(args.v, nullptr))) {}

  bool serves() const { return inner_ != nullptr; }
  const char* name() const override { return "attention_f8_fast"; }
  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  size_t shared_bytes() const override { return copied_bytes() + inner_->shared_bytes(); }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    auto* at = reinterpret_cast<float*>(scratch.shared);
    const auto decoded = [&](const Tensor& codes, const Tensor& scale) {
      const Tensor copy = as_floats(codes, at);
      at += padded(codes.count());
      pool.parallel_for(codes.pixels(), [&](int64_t row, int) {
        const uint8_t* from = codes.as<uint8_t>() + row * codes.pitch;
        kernels_.decode(from, codes.channels(), DType::f8e4m3, scale.as<float>()[0], copy.as<float>() + row * copy.pitch);
      });
      return copy;
    };
    const Tensor q = decoded(args_.q, args_.qScale), k = decoded(args_.k, args_.kScale), v = decoded(args_.v, args_.vScale);
    Scratch behind = scratch;
    behind.shared += copied_bytes();
    attention(q, k, v)->run(pool, behind);
  }

 private:
  static int64_t padded(int64_t floats) { return (floats + kAlignFloats - 1) / kAlignFloats * kAlignFloats; }
  size_t copied_bytes() const {
    return static_cast<size_t>(padded(args_.q.count()) + padded(args_.k.count()) + padded(args_.v.count())) * sizeof(float);
  }

  static Tensor as_floats(const Tensor& codes, float* data) {
    Tensor copy = codes;
    copy.dtype = DType::f32;
    copy.data = data;
    copy.pitch = codes.channels();
    return copy;
  }

  std::unique_ptr<PreparedRow> attention(const Tensor& q, const Tensor& k, const Tensor& v) const {
    AttentionArgs a{};
    a.q = q;
    a.k = k;
    a.v = v;
    a.y = args_.y;
    a.axis = args_.axis;
    a.heads = args_.heads;
    a.scale = args_.scale;
    return prepare_attention(a, cache_, target_);
  }

  AttentionF8Args args_;
  PackCache& cache_;
  Target target_;  // products are exact, whatever those of floats are: the codes are rounded enough
  const CodeKernels& kernels_;
  /** Of the row's sizes; never run. */
  std::unique_ptr<PreparedRow> inner_;
};

}  // namespace

/** Declines results that are not float32. */
std::unique_ptr<PreparedRow> prepare_attention_f8(const AttentionF8Args& args, PackCache& cache, const Target& target) {
  if (args.y.dtype != DType::f32) return nullptr;
  auto row = std::make_unique<AttentionF8>(args, cache, target);
  if (!row->serves()) return nullptr;
  return row;
}

}  // namespace vd::cpu
