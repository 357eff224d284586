// From a row to the launches that compute it.
#pragma once
#include <string>
#include <vector>

#include "../core/cuda_launch.h"
#include "../core/row.h"

namespace vd::cuda {

/** The ways to compute a row on a device, best guess first. Throws Error(unsupported) if there is none. */
std::vector<Plan> plan_row(const Row& row, const DeviceInfo& device);

/** The most working memory that a variant may take where others take less. */
inline constexpr size_t kMostWorkspaceBytes = size_t{256} << 20;

/** Which plans of a row may run, the best guess first. */
struct Candidates {
  std::vector<Plan> plans;
  std::vector<std::string> names() const;
  /** The plan of that name, or the guess. */
  Plan take(const std::string& wanted);
};

/** The plans within kMostWorkspaceBytes, or the guess alone if there are none. plans: not empty. */
Candidates bounded(std::vector<Plan> plans);

}  // namespace vd::cuda
