// The parts of conv's planner.
#pragma once
#include <string>

#include "../../device/matmul_mma.h"
#include "../../device/pack.h"
#include "../../native/cuda/planning/conv_problem.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "../../native/generated/op_args.h"
#include "conv_groups_params.h"

namespace vd {

/** Sets sizes, steps and frames in front of the row as the portable cores see it; returns the number of taps. */
int set_geometry(device::MatmulMmaParams& params, const ConvArgs& args);

/** Adds the Hopper core's kernels, also of rows with groups. */
void add_conv_sm90(const ConvArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** Kernels for a row whose channels all mix. */
cuda::Candidates dense_conv_variants(const ConvArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);

/** Kernels for a row of several groups: those of depthwise and grouped rows, and those of dense rows for one group after the
 *  other. */
cuda::Candidates grouped_conv_variants(const ConvArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);

/** A row for the kernels of groups, without the number of items. */
device::ConvGroupsParams conv_groups_params(const ConvArgs& args);

/** Filters of groups as float32, [taps, channels of a group, K]. */
device::PackParams conv_groups_pack(const ConvArgs& args);

/** A kernel of groups, which finds its filters packed. */
cuda::Variant conv_groups_variant(const ConvArgs& args, const device::ConvGroupsParams& params, const device::PackParams& pack,
                                  const std::string& symbol, int64_t threads, int64_t blocks);

/** Gives a variant's kernel the bias as float32, as epilogues of one type have it. */
void give_float_bias(const ConvArgs& args, cuda::Variant& variant);

/** Adds the kernels on tensor cores for groups of few channels, and for few channels in all (conv_groups_mma.cu). */
void add_conv_groups_mma(const ConvArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);
void add_conv_thin(const ConvArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** Adds the kernels that slide down columns (conv_slide.cu). */
void add_conv_slide(const ConvArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& out);

/** Completes variants of a row whose moments are wanted: kernels that find those of their tiles come first, or alone where the plan is
 *  batch-invariant, and launches behind each variant find the rest. */
void add_conv_moments(const ConvArgs& args, const cuda::DeviceInfo& device, cuda::Candidates& variants);

}  // namespace vd
