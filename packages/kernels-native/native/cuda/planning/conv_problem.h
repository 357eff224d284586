// Convolutions as the Hopper core sees them, for every op that convolves.
#pragma once
#include "../../generated/op_args.h"
#include "matmul_sm90.h"

namespace vd::cuda {

/** Frames in front of x. */
inline int32_t past_frames(const ConvArgs& a) { return a.past.present() ? static_cast<int32_t>(a.past.dim(1)) : 0; }

/** True where a tap may read a frame that is not where x's frames and zeros around them are: kernels of their own. */
inline bool reads_clip(const ConvArgs& a) {
  return a.past.present() || (a.framePadding == FramePadding::replicate && a.padding[0] + a.padding[1] > 0);
}

/** True where results are four phases of 2x2 filters. */
bool has_phases(const ConvArgs& args);

/** True where the phases have their filters in common: in float32 sums of 16-bit filters, a phase's own, take more bits than products have.
 */
bool shares_filters(const ConvArgs& args);

/** Packs filters as [phases, K, taps, C'] in x's type. base: gets the packing. */
Address pack_conv_filters(Variant& base, const ConvArgs& args, int taps, int64_t paddedChannels);

/** Why the Hopper core cannot do the row, whatever the tile. */
Reason conv_sm90_reason(const ConvArgs& args, const DeviceInfo& device);

/** The row as the Hopper core sees it. base: gets what must be packed. */
MatmulProblem conv_sm90_problem(const ConvArgs& args, Variant& base, const device::Epilogue& epilogue);

}  // namespace vd::cuda
