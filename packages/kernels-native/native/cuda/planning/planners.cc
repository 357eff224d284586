#include "planners.h"

#include <string_view>

#include "../../core/error.h"
#include "../../core/op_table.h"
#include "../../generated/op_args.h"
#include "../../generated/op_planners.h"

namespace vd::cuda {
namespace {

std::string describe(const Row& row) {
  std::string text;
  for (size_t i = 0; i < row.tensors.size(); ++i) {
    const Tensor& t = row.tensors[i];
    if (!t.present()) continue;
    text += (text.empty() ? "" : ", ") + std::string(kOps[row.op]->tensors[i].name) + " " + type_name(t.dtype) + "[";
    for (int d = 0; d < t.rank; ++d) text += (d ? "," : "") + std::to_string(t.dims[d]);
    text += "]";
  }
  return text;
}

/** What the op's planner finds. */
Candidates candidates_of(const Row& row, const DeviceInfo& device, const PlanningOptions& options) {
  const std::string_view id = kOps[row.op]->id;
#define VD_VARIANTS(name, Args) \
  if (id == #name) return name##_cuda_variants(read_##name##_args(row), device, options);
  VD_FOR_EACH_OP(VD_VARIANTS)
#undef VD_VARIANTS
  return Candidates(options);
}

}  // namespace

Candidates variants_of(const Row& row, const DeviceInfo& device, const PlanningOptions& options) {
  Candidates candidates = candidates_of(row, device, options);
  if (candidates.variants.empty())
    throw Error(ErrorCode::unsupported, row.name + "] [" + kOps[row.op]->id, "a kernel for these operands", describe(row),
                "Use other element types, or the CPU: device \"cpu\".");
  candidates.limit_workspace();
  return candidates;
}

}  // namespace vd::cuda
