// Variants of linear on the Hopper matrix core for few tokens (device/matmul_sm90_turned.cuh).
#pragma once
#include "matmul_sm90.h"

namespace vd::cuda {

/** True where turned tiles go first: those of 88 tokens where they leave less empty than tiles of 128 rows and fill most of the device,
 * those of 32 tokens where all of them run at once and reductions are short for the ring that there is room for. Others are left to kernels
 * that split the reduction. */
bool turned_wins(const MatmulProblem& problem, const DeviceInfo& device);

/** Adds a variant for each turned tile that can do the problem, the best guess first, each a copy of `base` with the launch added. */
void add_matmul_turned(const MatmulProblem& problem, const Variant& base, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
