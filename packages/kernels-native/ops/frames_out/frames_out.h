// Launch planning of frames_out on CUDA.
#pragma once
#include "../../native/generated/op_args.h"
#include "../../native/core/cuda_launch.h"

namespace vd {

/** Ways to compute a frames_out row, best guess first; empty when no kernel takes it. */
std::vector<cuda::Plan> plan_frames_out_cuda(const FramesOutArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
