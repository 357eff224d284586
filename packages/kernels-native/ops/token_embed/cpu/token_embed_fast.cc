// Tokens and their positions, a token at a time. The first one of every frame is computed when the row is prepared: it and its
// position are weights.
#include <cstring>
#include <vector>

#include "../../../native/core/float_element.h"
#include "../../../native/cpu/fast_paths.h"

#include "token_embed_kernels.h"

namespace vd::cpu {
namespace {

class TokenEmbed final : public PreparedRow {
 public:
  TokenEmbed(const TokenEmbedArgs& args, const TokenEmbedKernels& kernels)
      : args_(args), kernels_(kernels), first_(static_cast<size_t>(args.x.channels())) {
    const Tensor &token = args.token, &position = args.position;
    for (int64_t c = 0; c < args.x.channels(); ++c)
      first_[static_cast<size_t>(c)] = load_element(token.data, token.dtype, c) + load_element(position.data, position.dtype, c);
  }

  const char* name() const override { return "token_embed_fast"; }
  void run(ThreadPool& pool, const Scratch&) override {
    const Tensor &x = args_.x, &y = args_.y, &position = args_.position;
    const int64_t S = x.dim(2), C = x.channels();
    const auto* positions = position.as<std::byte>();
    pool.parallel_for(y.pixels(), [&](int64_t i, int) {
      const int64_t frame = i / (S + 1), s = i % (S + 1);
      float* out = y.as<float>() + i * y.pitch;
      if (s == 0) std::memcpy(out, first_.data(), static_cast<size_t>(C) * sizeof(float));
      else
        kernels_.add(out, x.as<float>() + (frame * S + s - 1) * x.pitch, positions + s * C * bytes_of(position.dtype), position.dtype, C);
    });
  }

 private:
  TokenEmbedArgs args_;
  const TokenEmbedKernels& kernels_;
  std::vector<float> first_;  // [C]
};

}  // namespace

/** Declines activations that are not float32. */
std::unique_ptr<PreparedRow> prepare_token_embed(const TokenEmbedArgs& args, PackCache&, const Target& target) {
  if (args.x.dtype != DType::f32 || args.y.dtype != DType::f32) return nullptr;
  return std::make_unique<TokenEmbed>(args, token_embed_kernels_of(resolve_isa(target.isa)));
}

}  // namespace vd::cpu
