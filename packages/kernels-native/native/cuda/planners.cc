#include "planners.h"

#include <string_view>

#include "../../ops/attention/attention.h"
#include "../../ops/conv/conv.h"
#include "../../ops/copy/copy.h"
#include "../../ops/denoise_input/denoise_input.h"
#include "../../ops/depth_to_space/depth_to_space.h"
#include "../../ops/group_norm/group_norm.h"
#include "../../ops/group_norm_stats/group_norm_stats.h"
#include "../../ops/guide/guide.h"
#include "../../ops/layer_norm/layer_norm.h"
#include "../../ops/layout_in/layout_in.h"
#include "../../ops/layout_out/layout_out.h"
#include "../../ops/linear/linear.h"
#include "../../ops/pointwise/pointwise.h"
#include "../../ops/resize/resize.h"
#include "../../ops/space_to_depth/space_to_depth.h"
#include "../../ops/timestep_embedding/timestep_embedding.h"
#include "../../ops/token_embed/token_embed.h"
#include "../generated/op_args.h"
#include "../launch/error.h"
#include "../launch/op_table.h"

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
              "Use other element types, or --device cpu.");
}

}  // namespace vd::cuda
