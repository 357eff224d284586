// From a row to the launches that compute it.
#pragma once
#include "../launch/cuda_launch.h"
#include "../launch/row.h"

namespace vd::cuda {

/** The ways to compute a row on a device, best guess first. Throws Error(unsupported) if there is none. */
std::vector<Plan> plan_row(const Row& row, const DeviceInfo& device);

}  // namespace vd::cuda
