// The fast path of convolutions in 8 bits, which conv_q8 and conv_q8_codes share.
#pragma once
#include <memory>

#include "code_matrix.h"
#include "prepared.h"

namespace vd::cpu {

/** Operands of such a convolution. */
struct CodeConvRow {
  Tensor x, xScale, weight, weightScale, bias, frameBias, y;
  Tensor yScale;      // absent where y is float32
  int64_t stride[3];         // frames, height, width
  int64_t front, top, left;  // zeros before the first of each
  bool transposed;           // filters are [C,K,1,4,4], which double height and width
  Epilogue epilogue;  // all but the bias
};

/** The row ready to run; null where filters hold NaN, which must not meet the zeros of padding. op: begins its name. */
std::unique_ptr<PreparedRow> make_code_conv(const CodeConvRow& row, const char* op, PackCache& cache, Isa isa);

/** The same from an op's arguments; null where they are not served. */
template <class Args>
std::unique_ptr<PreparedRow> prepare_code_conv(const Args& a, const Tensor& yScale, const char* op, PackCache& cache, Isa isa) {
  if (!code_products_supported(a)) return nullptr;
  const CodeConvRow row{a.x,           a.xScale,      a.weight,
                        a.weightScale, a.bias,        a.frameBias,
                        a.y,           yScale,        {a.stride[0], a.stride[1], a.stride[2]},
                        a.padding[0],  a.padding[2],  a.padding[4],
                        a.transposed,  epilogue_of(a)};
  return make_code_conv(row, op, cache, resolve_isa(isa));
}

}  // namespace vd::cpu
