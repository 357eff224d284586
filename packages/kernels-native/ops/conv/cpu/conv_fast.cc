// Convolution: chooses the algorithm.
#include "conv_fast.h"

#include <cstring>

#include "../../../native/core/activation.h"
#include "../../../native/cpu/fast_paths.h"
#include "../../../native/cpu/result_moments.h"
#include "../../../native/cpu/tile_epilogue.h"

namespace vd::cpu {
namespace {

/** A convolution that is a linear layer over pixels. */
bool is_pointwise(const ConvArgs& a) {
  bool plain = !a.upsample && !a.transposed && !a.past.present() && a.groups == 1;
  for (int axis = 0; axis < 3; ++axis) plain = plain && a.weight.dim(2 + axis) == 1 && a.stride[axis] == 1;
  for (const int64_t zeros : a.padding) plain = plain && zeros == 0;
  return plain;
}

/** [B,F,H,W,C] as [B,F,H·W,C]. */
Tensor as_tokens(Tensor t) {
  if (!t.present()) return t;
  t.dims[2] *= t.dims[3];
  t.dims[3] = t.dims[4];
  t.rank = 4;
  return t;
}

LinearArgs as_linear(const ConvArgs& a) {
  LinearArgs linear{};
  linear.x = as_tokens(a.x);
  linear.weight = a.weight;
  linear.weight.rank = 2;
  linear.weight.pitch = a.weight.dim(1) * a.weight.pitch;
  linear.bias = a.bias;
  linear.frameBias = a.frameBias;
  linear.residual = as_tokens(a.residual);
  linear.residual2 = as_tokens(a.residual2);
  linear.y = as_tokens(a.y);
  linear.act = a.act;
  linear.outScale = a.outScale;
  linear.residualScale = a.residualScale;
  linear.residual2Scale = a.residual2Scale;
  return linear;
}

/** Too little work per pixel for tiles of 16 columns by 32 products, as in a (3,1,1) kernel of 3 -> 3 channels. */
bool is_tiny(const ConvArgs& a) {
  constexpr int64_t kFewProducts = 512;
  return a.weight.count() < kFewProducts;
}

/** Every channel of x has one filter of its own. */
bool is_depthwise(const ConvArgs& a) { return a.groups == a.x.channels() && a.groups == a.y.channels(); }

/** True if no weight has all bits of `exponent` set, which says that it is infinite or no number. Filters that lie one behind the
 *  other are looked at in one loop without an end of its own, which compilers make vectors of. */
template <typename Bits> bool has_finite_bits(const Tensor& w, Bits exponent) {
  const int64_t line = w.pitch == w.dim(4) ? w.count() : w.dim(4), count = w.count() / line;
  const auto* bytes = static_cast<const std::byte*>(w.data);
  Bits found = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t s = 0; s < line; ++s) {
      Bits bits;
      std::memcpy(&bits, bytes + (i * w.pitch + s) * static_cast<int64_t>(sizeof bits), sizeof bits);
      found = static_cast<Bits>(found | ((bits & exponent) == exponent ? 1 : 0));
    }
  }
  return found == 0;
}

/** True if no weight is infinite or no number. */
bool has_finite_weights(const Tensor& w) {
  if (w.dtype == DType::f32) return has_finite_bits<uint32_t>(w, 0x7f800000u);
  return has_finite_bits<uint16_t>(w, w.dtype == DType::f16 ? 0x7c00u : 0x7f80u);
}

/** The algorithm for the result alone; null for what none does. Declines weights that are not finite, which the fast paths would multiply
 *  with the zeros of padding, and upsampling with a stride. */
std::unique_ptr<PreparedRow> prepare_result(const ConvArgs& args, PackCache& cache, const Target& target) {
  if (!epilogue_supported(args) || is_gated(args.act)) return nullptr;
  if (!absent_or_f32(args.past)) return nullptr;
  if (args.upsample && (args.stride[1] != 1 || args.stride[2] != 1)) return nullptr;
  // Padding is no part of a pointwise convolution.
  if (!is_pointwise(args) && !has_finite_weights(args.weight)) return nullptr;
  const Isa isa = target.isa;
  if (args.groups > 1) return is_depthwise(args) ? make_conv_depthwise(args, cache, isa) : make_conv_groups(args, cache, target);
  // A filter [K,C,1,1,1] is a matrix when its elements follow each other.
  if (is_pointwise(args) && args.weight.pitch == 1) return prepare_linear(as_linear(args), cache, target);
  if constexpr (kHasAmx) {
    const amx::Engine engine = amx::engine_of(target);
    // Without matrix tiles bfloat16 takes half the time of a product, transforms leave a quarter of the products.
    const bool transforms = target.isa == Isa::avx512 && winograd_serves(args);
    if (engine && !transforms && !is_tiny(args)) return make_conv_amx(args, cache, engine);
  }
  if (winograd_serves(args)) return make_conv_winograd(args, cache, isa);
  return make_conv_simd(args, cache, isa);
}

}  // namespace

std::unique_ptr<PreparedRow> prepare_conv(const ConvArgs& args, PackCache& cache, const Target& target) {
  return with_moments(prepare_result(args, cache, target), args.y, args.moments, target.isa);
}

}  // namespace vd::cpu
