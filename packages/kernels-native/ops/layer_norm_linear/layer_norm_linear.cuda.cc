#include <utility>

#include "../../native/core/normed_linear.h"
#include "../../native/cuda/planning/through_workspace.h"
#include "../../native/generated/op_planners.h"

namespace vd {

namespace {

/** Adds the kernels of linear behind the one of layer_norm, which leaves the normalised tokens in the workspace in the type of x. */
void add_apart(const LayerNormLinearArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options, cuda::Candidates& out) {
  const Tensor x = normed_tokens(a, cuda::place_in_workspace(0), a.x.dtype);
  cuda::Candidates norms = layer_norm_cuda_variants(as_layer_norm(a, x), device, options);
  if (norms.variants.empty()) return;
  const cuda::Variant norm = cuda::into_workspace(std::move(norms.variants[0]), x);
  cuda::add_behind(norm, x, linear_cuda_variants(as_linear(a, x), device, options).variants, "apart_", out);
}

}  // namespace

cuda::Candidates layer_norm_linear_cuda_variants(const LayerNormLinearArgs& a, const cuda::DeviceInfo& device,
                                                 const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  add_apart(a, device, options, out);
  return out;
}

}  // namespace vd
