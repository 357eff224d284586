// The launches behind a convolution that find the moments of its result.
#pragma once
#include <string>

#include "candidates.h"

namespace vd::cuda {

/** Whose moments are wanted. */
struct MeasuredResult {
  std::string op;            // what its kernels' names begin with
  Tensor y, moments;         // absent moments: nobody wants them
  std::string invariantTile;  // the variant that alone is left where a plan is batch-invariant, since kernels add up in orders of their own
};

/** Completes variants of a row whose moments are wanted: kernels that find those of their tiles come first, or alone where the plan is
 *  batch-invariant, and launches behind each variant find the rest. */
void add_channel_moments(const MeasuredResult& result, const DeviceInfo& device, Candidates& out);

}  // namespace vd::cuda
