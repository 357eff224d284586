#include <utility>

#include "../../native/core/normed_linear.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/linear_problem.h"
#include "../../native/cuda/planning/through_workspace.h"
#include "../../native/generated/op_planners.h"

namespace vd {

namespace {

/** Adds the kernels whose tiles keep their rows in registers, and normalise them there. */
void add_in_registers(const LayerNormLinearArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const LinearArgs linear = as_linear(a, a.x);
  if (!out.allows({cuda::kMatmulSm90Family}, cuda::linear_sm90_reason(linear, device))) return;
  cuda::Variant base;
  const device::Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(linear), a.y.dim(1), a.y.dim(2));
  cuda::MatmulProblem problem = cuda::linear_sm90_problem(linear, base, epilogue);
  problem.symbolPrefix = a.x.dtype == DType::f16 ? "layer_norm_linear_sm90_f16_" : "layer_norm_linear_sm90_bf16_";
  problem.tokenNorm = {a.eps, cuda::float_bias(base, a.normWeight, "linear_pack"), cuda::float_bias(base, a.normBias, "linear_pack")};
  cuda::add_matmul_sm90(problem, base, device, out);
  for (cuda::Variant& variant : out.variants) variant.launches.back().overlapped = true;
}

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
  // The others add up in other orders.
  add_in_registers(a, device, out);
  if (out.variants.empty() || out.allows({"apart_*"}, out.variance_reason())) add_apart(a, device, options, out);
  return out;
}

}  // namespace vd
