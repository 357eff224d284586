// The parts of conv's planner.
#pragma once
#include "../../device/matmul_mma.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "../../native/generated/op_args.h"

namespace vd {

/** Frames in front of x. */
inline int32_t past_frames(const ConvArgs& a) { return a.past.present() ? static_cast<int32_t>(a.past.dim(1)) : 0; }

/** True where a tap may read a frame that is not where x's frames and zeros around them are: kernels of their own. */
inline bool reads_clip(const ConvArgs& a) {
  return a.past.present() || (a.framePadding == FramePadding::replicate && a.padding[0] + a.padding[1] > 0);
}

/** Sets sizes, steps and frames in front of the row as the portable cores see it; returns the number of taps. */
int set_geometry(device::MatmulMmaParams& params, const ConvArgs& args);

/** Adds the Hopper core's kernels, also of rows with groups. */
void add_conv_sm90(const ConvArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** Kernels for a row whose channels all mix. */
cuda::Candidates dense_conv_variants(const ConvArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);

/** Kernels for a row of several groups: those of depthwise and grouped rows, and those of dense rows for one group after the
 *  other. */
cuda::Candidates grouped_conv_variants(const ConvArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);

/** Completes variants of a row whose moments are wanted: kernels that find those of their tiles come first, or alone where the plan is
 *  batch-invariant, and launches behind each variant find the rest. */
void add_conv_moments(const ConvArgs& args, cuda::Candidates& variants);

/** Puts the launches of each variant of `more` behind those of the variant of its name, and drops variants that `more` lacks. */
void join_launches(cuda::Candidates& variants, const cuda::Candidates& more);

}  // namespace vd
