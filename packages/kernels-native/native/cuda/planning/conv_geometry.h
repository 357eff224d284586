// Sizes of a convolution as the Hopper matrix core sees them.
#pragma once
#include "matmul_sm90.h"

namespace vd::cuda {

/** Makes one axis of axes that do not mix, so that boxes of pixels fill tiles. All sizes, steps and padding are in the problem. */
void join_axes(MatmulProblem& problem);

}  // namespace vd::cuda
