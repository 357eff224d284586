// Launches of norms of tokens over their channels, which layer_norm, layer_norm_q8 and rms_norm share.
#pragma once
#include "candidates.h"

namespace vd::cuda {

/** Operands of such a norm; all but x and y may be absent. */
struct TokenNormOperands {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;
  const Tensor& scale;
  const Tensor& shift;
  const Tensor& yScale;  // of results in 8 bits, where it is known before
  const Tensor& y;
  const Tensor& scales;  // of results in 8 bits
  float eps;
};

/** Threads of a block where `lanes` threads own a row: few rows go to smaller blocks, so that every multiprocessor has some. */
uint32_t token_norm_threads(int64_t rows, int lanes, const DeviceInfo& device);

/** Adds the kernel that suits the row's length, and the one that takes any row. symbol: of the kernels, without type and shape. */
void add_token_norm(const TokenNormOperands& operands, const std::string& symbol, const DeviceInfo& device, Candidates& out);

/** Whether rows are so many that blocks which stay have several each. */
bool token_norm_has_many(const TokenNormOperands& operands, const DeviceInfo& device);

/** Adds the kernel for such rows: of 16-bit numbers, to codes, with nothing behind weight and bias. Its results have the bits of those of
 * the kernels that add_token_norm adds. */
void add_many_token_norm(const TokenNormOperands& operands, const std::string& symbol, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
