// Tokens in blocks, each read from the cache for its second and third pass.
#include "token_norm.h"

#include <algorithm>
#include <vector>

#include "code_scale.h"
#include "norm_rows.h"
#include "token_norm_kernels.h"

namespace vd::cpu {
namespace {

constexpr int64_t kBlockTokens = 64;

const float* start_of(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

/** An operand [1|B, 1|F, 1|S, C] by token, or nothing. */
class Modulation {
 public:
  Modulation(const Tensor& t, const Tensor& x) : data_(t.as<float>()), frames_(x.dim(1)), tokens_(x.dim(2)) {
    if (!t.present()) return;
    const int64_t frame = t.pitch * t.dim(2);
    steps_[0] = t.dim(0) > 1 ? frame * t.dim(1) : 0;
    steps_[1] = t.dim(1) > 1 ? frame : 0;
    steps_[2] = t.dim(2) > 1 ? t.pitch : 0;
  }
  const float* of(int64_t token) const {
    if (!data_) return nullptr;
    const int64_t frame = token / tokens_;
    return data_ + frame / frames_ * steps_[0] + frame % frames_ * steps_[1] + token % tokens_ * steps_[2];
  }

 private:
  const float* data_;
  int64_t frames_, tokens_;
  int64_t steps_[3] = {0, 0, 0};
};

class TokenNorm final : public PreparedRow {
 public:
  TokenNorm(const TokenNormRow& row, const char* name, const TokenNormKernels& kernels, const CodeKernels& codeKernels)
      : row_(row),
        name_(name),
        codeKernels_(codeKernels),
        normalise_(row.kind == TokenNormKind::rms_norm ? kernels.rms_norm : kernels.layer_norm),
        scale_(row.scale, row.x),
        shift_(row.shift, row.x) {}

  const char* name() const override { return name_; }
  size_t scratch_bytes() const override { return leaves_codes() ? static_cast<size_t>(row_.x.channels()) * sizeof(float) : 0; }
  void run(ThreadPool& pool, const Scratch& scratch) override {
    // Read anew for each run: a few hundred floats, which need not be constant.
    weight_ = as_floats(row_.weight);
    bias_ = as_floats(row_.bias);
    const int64_t tokens = row_.x.pixels();
    pool.parallel_for((tokens + kBlockTokens - 1) / kBlockTokens, [&](int64_t block, int worker) {
      const int64_t first = block * kBlockTokens;
      auto* line = leaves_codes() ? reinterpret_cast<float*>(scratch.of(worker)) : nullptr;
      for (int64_t token = first; token < std::min(tokens, first + kBlockTokens); ++token) {
        float* y = line ? line : row_.y.as<float>() + token * row_.y.pitch;
        normalise_(row_.x.as<float>() + token * row_.x.pitch, y, row_.x.channels(),
                   {start_of(weight_), start_of(bias_), scale_.of(token), shift_.of(token)}, row_.eps);
        if (line) round_token(token, line);
      }
    });
  }

 private:
  bool leaves_codes() const { return row_.y.dtype != DType::f32; }

  void round_token(int64_t token, const float* numbers) const {
    const int64_t channels = row_.x.channels();
    const float scale =
        row_.yScale.present() ? *row_.yScale.as<float>() : code_scale(codeKernels_.largest(numbers, channels), row_.y.dtype);
    codeKernels_.encode(numbers, channels, 1.0f / scale, row_.y.dtype, row_.y.as<uint8_t>() + token * row_.y.pitch);
    if (row_.scales.present()) row_.scales.as<float>()[token * row_.scales.pitch] = scale;
  }

  TokenNormRow row_;
  const char* name_;
  const CodeKernels& codeKernels_;
  decltype(TokenNormKernels::layer_norm) normalise_;
  Modulation scale_, shift_;
  std::vector<float> weight_, bias_;
};

bool is_f32_or_absent(const Tensor& t) { return !t.present() || t.dtype == DType::f32; }

}  // namespace

std::unique_ptr<PreparedRow> prepare_token_norm(const TokenNormRow& row, const char* name, Isa isa) {
  for (const Tensor* t : {&row.x, &row.scale, &row.shift})
    if (!is_f32_or_absent(*t)) return nullptr;
  if (row.y.dtype == DType::f16 || row.y.dtype == DType::bf16) return nullptr;
  const Isa resolved = resolve_isa(isa);
  return std::make_unique<TokenNorm>(row, name, token_norm_kernels_of(resolved), code_kernels_of(resolved));
}

}  // namespace vd::cpu
