// The fast path of linear layers in 8 bits, which linear_q8 and linear_q8_codes share.
#pragma once
#include <memory>

#include "code_matrix.h"
#include "prepared.h"

namespace vd::cpu {

/** Operands of such a layer. */
struct CodeLinearRow {
  Tensor x, xScale, weight, weightScale, bias, frameBias, y;
  Tensor yScale;  // absent where y is float32
  Activation act;
  Epilogue epilogue;  // all but the bias
};

/** The row ready to run. op: begins its name. */
std::unique_ptr<PreparedRow> make_code_linear(const CodeLinearRow& row, const char* op, PackCache& cache, Isa isa);

/** The same from an op's arguments; null where they are not served. */
template <class Args>
std::unique_ptr<PreparedRow> prepare_code_linear(const Args& a, const Tensor& yScale, const char* op, PackCache& cache, Isa isa) {
  if (!code_products_supported(a)) return nullptr;
  const CodeLinearRow row{a.x, a.xScale, a.weight, a.weightScale, a.bias, a.frameBias, a.y, yScale, a.act, epilogue_of(a)};
  return make_code_linear(row, op, cache, resolve_isa(isa));
}

}  // namespace vd::cpu
