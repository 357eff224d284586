// Helpers of the launch planners: epilogue from arguments, packs, tiles of the Hopper matrix core.
#pragma once
#include "../native/generated/op_args.h"
#include "../native/core/cuda_launch.h"
#include "epilogue.h"
#include "matmul_sm90.h"
#include "pack.h"

namespace vd::device {

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

/** The epilogue of a row; y is [B, frames, ..., N], pixelsPerFrame pixels to a frame. */
Epilogue make_epilogue(const EpilogueOperands& operands, int64_t frames, int64_t pixelsPerFrame);

/** Adds a pack to the plan and returns its index. */
int add_pack(cuda::Plan& plan, const Tensor& source, const char* symbol, PackParams params);

/** True when every operand of the tail but the bias has type `dtype` and 16-byte accesses are allowed: what the Hopper
 *  core needs. The bias is then given as float32. */
bool typed_epilogue(const EpilogueOperands& operands, const Epilogue& epilogue, DType dtype);

/** The bias as float32: the tensor itself, or a pack that `address` names. Absent stays null. */
struct BiasSource {
  bool present = false;
  cuda::Address address;
};
BiasSource float_bias(cuda::Plan& plan, const Tensor& bias, const char* packSymbol);

/** A [rows, channels] weight matrix in `dtype`: the tensor itself, or a converted pack. */
cuda::Address weight_matrix(cuda::Plan& plan, const Tensor& weight, DType dtype, const char* packSymbol);

/** A convolution or linear as the Hopper core sees it. Dims and strides are those of one activation source. */
struct MatmulProblem {
  const char* symbolPrefix;     // e.g. "conv_sm90_f16_"
  Tensor x, x2;                 // x2 absent but for linear
  int64_t source[4];            // B, F, H, W of x
  int64_t out[4];               // B, F, H, W of one phase of the output
  int64_t channels, channels2;
  int kernel[3], stride[3], padding[3];
  int phases;
  int64_t columns;              // columns of the product (2K with geglu)
  bool geglu;
  bool typed;                   // typed_epilogue holds
  cuda::Address weights;
  BiasSource bias;
  int64_t weightChannels;       // elements from one tap (or row) of the weights to the next
  Epilogue epilogue;
};

/** True when the copy engine can read the tensor: a 16-bit type, base and pitch multiples of 16 bytes. */
bool copyable(const Tensor& tensor);

/** One plan per legal tile, best guess first, each a copy of `base` with the launch added. */
std::vector<cuda::Plan> plan_matmul_sm90(const MatmulProblem& problem, const cuda::Plan& base, const cuda::DeviceInfo& device);

}  // namespace vd::device
