// Launches of linear layers in 8 bits, which linear_q8 and linear_q8_codes share, kernels included.
#pragma once
#include "../../generated/op_args.h"
#include "candidates.h"
#include "epilogue.h"
#include "matmul_sm90.h"

namespace vd::cuda {

/** Operands and attributes of such a layer; yScale is absent where results are floats. */
struct LinearQ8Operands {
  const Tensor& x;
  const Tensor& xScale;
  const Tensor& weight;
  const Tensor& weightScale;
  const float* yScale;
  EpilogueOperands tail;
};

/** Why the Hopper core cannot do a layer, whatever the tile. */
Reason linear_q8_sm90_reason(const LinearQ8Operands& operands, const DeviceInfo& device);

/** A layer as the Hopper core sees it, with kernels of linear_q8. base: gets packed weights and scales. */
MatmulProblem linear_q8_sm90_problem(const LinearQ8Operands& operands, Variant& base, const device::Epilogue& epilogue);

/** Adds the tiles that can do the layer, the best guess first. */
void add_linear_q8(const LinearQ8Operands& operands, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
