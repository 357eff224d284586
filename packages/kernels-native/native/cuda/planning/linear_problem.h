// Linear layers as the Hopper core sees them, for every op that has one.
#pragma once
#include "../../generated/op_args.h"
#include "matmul_sm90.h"

namespace vd::cuda {

/** Why the Hopper core cannot do the row, whatever the tile. */
Reason linear_sm90_reason(const LinearArgs& a, const DeviceInfo& device);

/** The row as the Hopper core sees it. base: gets what must be packed. */
MatmulProblem linear_sm90_problem(const LinearArgs& a, Variant& base, const device::Epilogue& epilogue);

}  // namespace vd::cuda
