// Launches of convolutions in 8 bits, which conv_q8 and conv_q8_codes share, kernels included.
#pragma once
#include "../../generated/op_args.h"
#include "candidates.h"
#include "epilogue.h"
#include "matmul_sm90.h"

namespace vd::cuda {

/** Operands and attributes of such a convolution; yScale is absent where results are floats. */
struct ConvQ8Operands {
  const Tensor& x;
  const Tensor& xScale;
  const Tensor& weight;
  const Tensor& weightScale;
  const float* yScale;
  const int64_t (&stride)[3];
  const int64_t (&padding)[6];
  EpilogueOperands tail;
  bool transposed;
  bool moments = false;  // kernels that find those of results on the way come with them
};

/** A row as the Hopper core sees it, with kernels of conv_q8. base: gets packed filters and scales. */
MatmulProblem conv_q8_sm90_problem(const ConvQ8Operands& operands, Variant& base, const device::Epilogue& epilogue);

/** Adds the tiles that can do the convolution, the best guess first. */
void add_conv_q8(const ConvQ8Operands& operands, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
