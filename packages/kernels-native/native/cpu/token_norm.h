// The fast path of norms of tokens over their channels, which layer_norm, rms_norm and layer_norm_q8 share.
#pragma once
#include <memory>

#include "../core/tensor.h"
#include "cpu_features.h"
#include "prepared.h"

namespace vd::cpu {

enum class TokenNormKind { layer_norm, rms_norm };

/** Operands of such a norm; all but x and y may be absent. y is float32, or codes with a scale for each token or a given one. */
struct TokenNormRow {
  TokenNormKind kind;
  Tensor x, weight, bias, scale, shift, y;
  float eps;
  Tensor scales = {};  // of the codes
  Tensor yScale = {};  // [1,1,1,1]: the codes' scale, where it is known before
};

/** The row ready to run, or null where an activation is not float32. y may be x. name: of the fast path. */
std::unique_ptr<PreparedRow> prepare_token_norm(const TokenNormRow& row, const char* name, Isa isa);

}  // namespace vd::cpu
