#include "../../native/cuda/planning/channel_moments.h"
#include "../../native/cuda/planning/conv_q8.h"
#include "../../native/cuda/planning/normed_conv.h"

namespace vd {

namespace {

constexpr const char* kPack = "conv_q8_pack";

cuda::ConvQ8Operands conv_operands(const GroupNormConvQ8Args& a, const ConvQ8Args& conv) {
  return {conv.x, conv.xScale,        conv.weight, conv.weightScale, nullptr, conv.stride, conv.padding, cuda::epilogue_operands(conv),
          false,  a.moments.present()};
}

/** Why no kernel normalises and rounds the row's frames in shared memory. */
cuda::Reason walk_reason(const GroupNormConvQ8Args& a, const cuda::DeviceInfo& device) {
  return cuda::first_of({cuda::wgmma_reason(device), cuda::copy_engine_reason(a.x, "x"), cuda::norm_activation_reason(a.normAct)});
}

/** Adds the kernels that normalise and round frames in shared memory. */
void add_walk(const GroupNormConvQ8Args& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!out.allows({cuda::kMatmulSm90Family}, walk_reason(a, device))) return;
  cuda::Variant base;
  const ConvQ8Args conv = as_conv_q8(a, a.x);
  const cuda::ConvQ8Operands operands = conv_operands(a, conv);
  cuda::MatmulProblem problem =
      cuda::conv_q8_sm90_problem(operands, base, cuda::make_epilogue(operands.tail, a.y.dim(1), a.y.dim(2) * a.y.dim(3)));
  problem.symbolPrefix = a.x.dtype == DType::f16 ? "group_norm_conv_q8_sm90_f16_" : "group_norm_conv_q8_sm90_bf16_";
  problem.untyped = cuda::typed_epilogue_reason(operands.tail, a.x.dtype);
  problem.rounded = true;
  problem.norm = cuda::normed_source(a, base, kPack);
  problem.norm->norm.codeScale = a.normScale.as<float>();
  cuda::add_matmul_sm90(problem, base, device, out);
  for (cuda::Variant& variant : out.variants) variant.launches.back().overlapped = true;
  cuda::add_channel_moments({"conv_q8", a.y, a.moments, "sm90_walk_codes_m128n128"}, device, out);
}

/** Adds the kernels of conv_q8 behind those of group_norm_q8. */
void add_norm_and_conv(const GroupNormConvQ8Args& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options,
                       cuda::Candidates& out) {
  const Tensor codes = normed_map(a, cuda::place_in_workspace(2), a.weight.dtype);
  const cuda::Variant norm = cuda::norm_into_workspace(as_group_norm_q8(a, codes), device);
  cuda::add_behind(norm, codes, conv_q8_cuda_variants(as_conv_q8(a, codes), device, options).variants, "apart_", out);
}

}  // namespace

cuda::Candidates group_norm_conv_q8_cuda_variants(const GroupNormConvQ8Args& a, const cuda::DeviceInfo& device,
                                                  const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  add_walk(a, device, out);
  // The others add up in other orders.
  if (out.variants.empty() || out.allows({"apart_*"}, out.variance_reason())) add_norm_and_conv(a, device, options, out);
  return out;
}

}  // namespace vd
