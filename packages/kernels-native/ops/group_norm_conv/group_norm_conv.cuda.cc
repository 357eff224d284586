#include "../../native/cuda/planning/channel_moments.h"
#include "../../native/cuda/planning/conv_problem.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/normed_conv.h"

namespace vd {

namespace {

/** base: gets what must be packed. */
cuda::NormedSource normed_source(const GroupNormConvArgs& a, cuda::Variant& base) {
  const bool joined = a.stats.dims[1] == 1;
  device::MatmulSourceNorm norm{};
  norm.stats = a.stats.as<float>();
  norm.statsPitch = a.stats.pitch;
  norm.groups = static_cast<int32_t>(a.stats.dims[2]);
  norm.groupChannels = static_cast<int32_t>(a.x.channels()) / norm.groups;
  norm.framesPerRow = joined ? static_cast<int32_t>(a.x.dims[1]) : 1;
  norm.silu = a.normAct == Activation::silu;
  return {norm, cuda::float_bias(base, a.normWeight, "conv_pack").address, cuda::float_bias(base, a.normBias, "conv_pack").address};
}

/** The tile that alone finds moments where a plan is batch-invariant, by the filters alone. */
const char* invariant_tile(const GroupNormConvArgs& a) {
  if (a.weight.dims[2] == 3) return "sm90_walk_m128n128";
  return a.y.channels() % 256 == 0 ? "sm90_normed_m128n256" : "sm90_normed_m256n128";
}

/** Why no kernel normalises the row's tiles in shared memory. */
cuda::Reason normed_reason(const GroupNormConvArgs& a, const ConvArgs& conv, const cuda::DeviceInfo& device) {
  const bool known = a.normAct == Activation::none || a.normAct == Activation::silu;
  return cuda::first_of({cuda::conv_sm90_reason(conv, device), cuda::if_so(!known, {"has no activation of the norm but silu"})});
}

/** Adds the kernels that normalise their tiles in shared memory. */
void add_normed(const GroupNormConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const ConvArgs conv = as_conv(a, a.x);
  if (!out.allows({cuda::kMatmulSm90Family}, normed_reason(a, conv, device))) return;
  cuda::Variant base;
  const device::Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(conv), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  cuda::MatmulProblem problem = cuda::conv_sm90_problem(conv, base, epilogue);
  problem.symbolPrefix = a.x.dtype == DType::f16 ? "group_norm_conv_sm90_f16_" : "group_norm_conv_sm90_bf16_";
  problem.norm = normed_source(a, base);
  cuda::add_matmul_sm90(problem, base, device, out);
  for (cuda::Variant& variant : out.variants) variant.launches.back().overlapped = true;
  cuda::add_channel_moments({"conv", a.y, a.moments, invariant_tile(a)}, out);
}

}  // namespace

cuda::Candidates group_norm_conv_cuda_variants(const GroupNormConvArgs& a, const cuda::DeviceInfo& device,
                                               const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  add_normed(a, device, out);
  // These add up in another order.
  if (out.variants.empty() || out.allows({"apart_*"}, out.variance_reason())) cuda::add_norm_and_conv(a, "apart_", device, options, out);
  return out;
}

}  // namespace vd
