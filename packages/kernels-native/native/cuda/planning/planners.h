// From a row to the variants that compute it: which planner is whose.
#pragma once
#include "../../core/row.h"
#include "candidates.h"

namespace vd::cuda {

/** The variants of a row on a device within the limit of working memory, the best guess first. Throws Error(unsupported) if there is none.
 */
Candidates variants_of(const Row& row, const DeviceInfo& device, const PlanningOptions& options);

}  // namespace vd::cuda
