// The fused tail of conv and linear from the arguments of either op.
#pragma once
#include "../../../device/epilogue.h"
#include "../../generated/op_args.h"
#include "reason.h"

namespace vd::cuda {

/** Operands of the tail of conv and linear, gathered from either op's arguments. */
struct EpilogueOperands {
  const Tensor& bias;
  const Tensor& frameBias;
  const Tensor& residual;
  const Tensor& residual2;
  const Tensor& y;
  Activation act;
  float outScale, residualScale, residual2Scale;
};

/** The operands of a call of conv or linear. */
template <class Args> EpilogueOperands epilogue_operands(const Args& a) {
  return {a.bias, a.frameBias, a.residual, a.residual2, a.y, a.act, a.outScale, a.residualScale, a.residual2Scale};
}

/** The epilogue of a row; y is [B, frames, ..., N], pixelsPerFrame pixels to a frame. */
device::Epilogue make_epilogue(const EpilogueOperands& operands, int64_t frames, int64_t pixelsPerFrame);

/** Why an epilogue that is compiled for one type cannot do the tail: an operand but the bias has another type than `dtype`, or
 *  allows no 16-byte accesses. The bias is given to it as float32. */
Reason typed_epilogue_reason(const EpilogueOperands& operands, DType dtype);

}  // namespace vd::cuda
