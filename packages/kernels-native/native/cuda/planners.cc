#include "planners.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "../generated/op_args.h"
#include "../generated/op_planners.h"
#include "../core/error.h"
#include "../core/op_table.h"

namespace vd::cuda {
namespace {

std::string describe(const Row& row) {
  std::string text;
  for (size_t i = 0; i < row.tensors.size(); ++i) {
    const Tensor& t = row.tensors[i];
    if (!t.present()) continue;
    text += (text.empty() ? "" : ", ") + std::string(kOps[row.op]->tensors[i].name) + " " + kDTypeNames[static_cast<int>(t.dtype)] + "[";
    for (int d = 0; d < t.rank; ++d) text += (d ? "," : "") + std::to_string(t.dims[d]);
    text += "]";
  }
  return text;
}

std::vector<Plan> plans_of(const Row& row, const DeviceInfo& device) {
  const std::string_view id = kOps[row.op]->id;
#define VD_PLAN(name, Args) \
  if (id == #name) return plan_##name##_cuda(read_##name##_args(row), device);
  VD_FOR_EACH_OP(VD_PLAN)
#undef VD_PLAN
  return {};
}

}  // namespace

std::vector<Plan> plan_row(const Row& row, const DeviceInfo& device) {
  std::vector<Plan> plans = plans_of(row, device);
  if (!plans.empty()) return plans;
  throw Error(ErrorCode::unsupported, row.name + "] [" + kOps[row.op]->id, "a kernel for these operands", describe(row),
              "Use other element types, or the CPU: device \"cpu\".");
}

std::vector<std::string> Candidates::names() const {
  std::vector<std::string> names;
  for (const Plan& plan : plans) names.push_back(plan.variant);
  return names;
}

Plan Candidates::take(const std::string& wanted) {
  const auto found = std::find_if(plans.begin(), plans.end(), [&](const Plan& plan) { return plan.variant == wanted; });
  return std::move(found == plans.end() ? plans.front() : *found);
}

Candidates bounded(std::vector<Plan> plans) {
  Candidates candidates;
  for (Plan& plan : plans)
    if (plan.workspaceBytes <= kMostWorkspaceBytes) candidates.plans.push_back(std::move(plan));
  if (candidates.plans.empty()) candidates.plans.push_back(std::move(plans.front()));
  return candidates;
}

}  // namespace vd::cuda
