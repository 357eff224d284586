// Attention over float8 codes: copies of what they stand for in float32, which all rows of a program share, then the fast path of
// attention, then codes again where those are wanted.
#include "code_attention.h"

#include "code_kernels.h"
#include "inner_attention.h"

namespace vd::cpu {
namespace {

class CodeAttention final : public PreparedRow {
 public:
  CodeAttention(const CodeAttentionRow& row, const char* name, PackCache& cache, const Target& target)
      : row_(row),
        name_(name),
        cache_(cache),
        target_(target),
        kernels_(code_kernels_of(resolve_isa(target.isa))),
        inner_(attention(as_floats(row.q, nullptr), as_floats(row.k, nullptr), as_floats(row.v, nullptr),
                         leaves_codes() ? as_floats(row.y, nullptr) : row.y)) {}

  bool serves() const { return inner_ != nullptr; }
  const char* name() const override { return name_; }
  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  size_t shared_bytes() const override { return copied_bytes() + inner_->shared_bytes(); }

  void run(ThreadPool& pool, const Scratch& scratch) override {
    auto* at = reinterpret_cast<float*>(scratch.shared);
    const auto copy_of = [&](const Tensor& codes) {
      const Tensor copy = as_floats(codes, at);
      at += padded_floats(codes.count());
      return copy;
    };
    const auto decoded = [&](const Tensor& codes, float scale) {
      const Tensor copy = copy_of(codes);
      pool.parallel_for(codes.pixels(), [&](int64_t row, int) {
        const uint8_t* from = codes.as<uint8_t>() + row * codes.pitch;
        kernels_.decode(from, codes.channels(), DType::f8e4m3, scale, copy.as<float>() + row * copy.pitch);
      });
      return copy;
    };
    const auto number = [](const Tensor& scale) { return scale.present() ? scale.as<float>()[0] : 1.0f; };
    const Tensor q = decoded(row_.q, number(row_.qScale)), k = decoded(row_.k, number(row_.kScale));
    // What values are multiples of, in multiples of the result's scale: results are those of its codes then.
    const Tensor v = decoded(row_.v, number(row_.vScale) / number(row_.yScale));
    const Tensor y = leaves_codes() ? copy_of(row_.y) : row_.y;
    Scratch behind = scratch;
    behind.shared += copied_bytes();
    attention(q, k, v, y)->run(pool, behind);
    if (leaves_codes()) encode(y, pool);
  }

 private:
  bool leaves_codes() const { return row_.yScale.present(); }
  size_t copied_bytes() const {
    int64_t floats = leaves_codes() ? padded_floats(row_.y.count()) : 0;
    for (const Tensor* codes : {&row_.q, &row_.k, &row_.v}) floats += padded_floats(codes->count());
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void encode(const Tensor& results, ThreadPool& pool) const {
    const Tensor& y = row_.y;
    pool.parallel_for(y.pixels(), [&](int64_t row, int) {
      kernels_.encode(results.as<float>() + row * results.pitch, y.channels(), 1.0f, y.dtype, y.as<uint8_t>() + row * y.pitch);
    });
  }

  std::unique_ptr<PreparedRow> attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y) const {
    AttentionArgs a{};
    a.q = q;
    a.k = k;
    a.v = v;
    a.y = y;
    a.axis = row_.axis;
    a.heads = row_.heads;
    a.scale = row_.scale;
    return prepare_inner_attention(a, cache_, target_);
  }

  CodeAttentionRow row_;
  const char* name_;
  PackCache& cache_;
  Target target_;
  const CodeKernels& kernels_;
  /** Of the row's sizes; never run. */
  std::unique_ptr<PreparedRow> inner_;
};

}  // namespace

std::unique_ptr<PreparedRow> make_code_attention(const CodeAttentionRow& row, const char* name, PackCache& cache, const Target& target) {
  auto made = std::make_unique<CodeAttention>(row, name, cache, target);
  if (!made->serves()) return nullptr;
  return made;
}

}  // namespace vd::cpu
