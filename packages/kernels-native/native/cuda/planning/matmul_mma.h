// Variants of conv and linear on the portable matrix cores: mma.sync, split float32 products, plain float32.
#pragma once
#include "../../../device/matmul_mma.h"
#include "candidates.h"

namespace vd::cuda {

/** A convolution or linear as the portable cores see it. */
struct MmaProblem {
  std::string op;          // what its kernels' names begin with: "conv", "linear" or "linear_swiglu"
  device::MatmulMmaParams params;
  Variant base;            // with the packs of the weights
  Address weights;
  DType type;              // of x and of the weights as they are multiplied
  DType weightType;        // of the weights' source
  Reason unchunked;        // why channels of x cannot be moved 16 bytes at a time
};

/** A variant of `problem` with one launch of the kernel `symbol`. */
Variant mma_variant(const MmaProblem& problem, const std::string& symbol, int threads, int64_t blocks);

/** Adds the tiles on tensor cores, the best guess first, then the plain kernel, which does every row. */
void add_matmul_mma(const MmaProblem& problem, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
