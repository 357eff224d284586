// Variants of conv and linear on the Hopper matrix core.
#pragma once
#include <optional>

#include "../../../device/matmul_sm90_normed.h"
#include "candidates.h"
#include "packs.h"

namespace vd::cuda {

/** How x is normalised on the way. */
struct NormedSource {
  device::MatmulSourceNorm norm;  // without weight and bias
  Address weight, bias;           // float32
};

/** How each row of x is normalised on the way; weight and bias are float32. */
struct NormedTokens {
  float eps;
  BiasSource weight, bias;
  const float* codeScale = nullptr;  // of codes that rows become
};

/** A convolution or linear as the Hopper core sees it. Dims and strides are those of one activation source. */
struct MatmulProblem {
  const char* symbolPrefix;     // e.g. "conv_sm90_f16_"
  Tensor x, x2;                 // x2 absent but for linear
  int64_t source[4];            // B, F, H, W of x
  int64_t out[4];               // B, F, H, W of one phase of the output
  int64_t channels, channels2;  // of a group
  int64_t groups = 1;           // of channels, each multiplied with its own part of the columns
  int kernel[3], stride[3], padding[3];
  Tensor past;                  // frames in front of x, absent but for clips
  bool clip = false;            // frames of x may lie in `past` or repeat: kernels of their own
  bool replicate = false;       // frames outside are the first or the last again
  int phases;
  bool sharedFilters = false;   // phases have the same filters, 3x3 ones over the grown picture: kernels of float32
  int64_t columns;              // columns of the product (2K with a gated activation)
  bool gated;                   // geglu or swiglu
  bool codes = false;           // results are 8-bit codes with a scale
  bool moments = false;         // somebody wants those of the results: kernels that can leave those of their tiles in the workspace
  bool wide = false;            // there are kernels of wide tiles
  bool rounded = false;         // x becomes float8 codes on the way, as which the filters come
  std::optional<NormedSource> norm = {};  // x is normalised on the way: kernels of their own, for 3x3 filters
  std::optional<NormedTokens> tokenNorm = {};  // rows of x are: kernels of their own, for linear
  const char* suffix = "";      // of the kernels' names: "", "_geglu" or "_swiglu"
  Reason untyped;               // why the epilogues that are compiled for x's type cannot do the tail
  Address weights;
  BiasSource bias;
  bool constantWeights = false; // they and what they are packed of stay as they are
  int64_t weightChannels;       // elements from one tap (or row) of the weights to the next
  device::Epilogue epilogue;
  device::MatmulScales scales = {};  // of 8-bit operands
  Address weightScales = {};
  bool blocked = false;              // blocks of 128 channels have scales of their own
};

/** Channels of a block of x: 128 bytes of them. */
inline int64_t block_channels(const MatmulProblem& problem) { return 128 / bytes_of(problem.x.dtype); }

/** The type of what is multiplied. */
inline DType operand_type(const MatmulProblem& problem) { return problem.rounded ? DType::f8e4m3 : problem.x.dtype; }

/** Why the copy engine cannot read a tensor: base or pitch no multiple of 16 bytes. */
Reason copy_engine_access_reason(const Tensor& tensor, const char* operand);

/** The same, or not of a 16-bit float type. */
Reason copy_engine_reason(const Tensor& tensor, const char* operand);

/** The same where products with weights of type `weights` need it: of a 16-bit float type, or float32 where those have 16 bits. */
Reason product_source_reason(const Tensor& tensor, DType weights, const char* operand);

/** Whether the Hopper core is a good first guess for float32: a frame of so many pixels and columns has a few tiles. Of a frame, since
 *  kernels add up in other orders, and a frame's results may not depend on how many there are. */
bool floats_fill_tiles(int64_t pixels, int64_t columns);

/** Adds a variant for each tile that can do the problem, the best guess first, each a copy of `base` with the launch added. */
void add_matmul_sm90(const MatmulProblem& problem, const Variant& base, const DeviceInfo& device, Candidates& out);

/** How the names of kernels end that leave the moments of their tiles of 128 pixels at the start of the workspace, those of a frame
 *  behind each other: float2 (mean, sum of squared deviations) of each column. */
inline constexpr const char* kMomentsSuffix = "_moments";

/** What the variants of all tiles are called together. */
inline constexpr const char* kMatmulSm90Family = "sm90_*";

}  // namespace vd::cuda
