// What the planners of 8-bit conv and linear share: scales, packed codes, and the portable cores.
#pragma once
#include "../../../device/matmul_mma.h"
#include "candidates.h"
#include "epilogue.h"
#include "matmul_sm90.h"
#include "packs.h"

namespace vd::cuda {

/** Scales of both operands as kernels read them. */
struct ScaleSources {
  device::MatmulScales scales;  // all but the address of the weights' scales
  Address weight;
  bool blocked = false;         // blocks of 128 channels have scales of their own
};

/** The scales of a call, those of the weights packed where blocks have their own. numTokens: of a linear layer, 0 of a convolution;
 *  xScale: [1|B, 1|F, 1|S, 1|G]; weightScale: [1|N, 1|G]. */
ScaleSources make_scales(Variant& base, int64_t numTokens, const Tensor& xScale, const Tensor& weightScale, const char* packSymbol);

/** Codes of weights [rows, channels, taps] as [rows, taps, paddedChannels]: the tensor itself where that is the same and aligned, or a
 *  pack that is added to the variant. */
Address pack_codes(Variant& base, const Tensor& weight, int64_t paddedChannels, int taps, const char* packSymbol);

/** The 16-bit type of the tail's operands: that of the result, or where codes leave it open that of a residual or bias of frames. */
DType tail_type(const EpilogueOperands& tail);

/** An 8-bit convolution or linear as the portable cores see it. */
struct ScaledMmaProblem {
  std::string op;          // what its kernels' names begin with
  device::MatmulMmaParams params;
  Variant base;            // with the packs of weights and scales
  Address weights;
  ScaleSources scales;
  DType type;              // of x and of the weights
  Reason unchunked;        // why channels of x cannot be moved 16 bytes at a time
};

/** Adds the tiles on tensor cores, the best guess first, then the plain kernel, which does every row. */
void add_scaled_mma(const ScaledMmaProblem& problem, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
