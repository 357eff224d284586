#include "../../native/generated/op_planners.h"

#include "../../native/core/activation.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/matmul_scaled.h"

namespace vd {

namespace {

using namespace device;

constexpr const char* kPack = "linear_q8_pack";
constexpr const char* kPackCodes = "linear_q8_pack_codes";

/** Why the Hopper core cannot do the row, whatever the tile. */
cuda::Reason sm90_reason(const LinearQ8Args& a, const cuda::DeviceInfo& device) {
  const bool gated = is_gated(a.act);
  return cuda::first_of({cuda::wgmma_reason(device), cuda::copy_engine_access_reason(a.x, "x"),
                         cuda::if_so(gated && a.y.channels() % 8 != 0, {"has # channels, which 8 does not divide", {a.y.channels()}, "y"}),
                         cuda::if_so(gated && a.frameBias.present(), {"has no frame bias with a gated activation"}),
                         cuda::if_so(gated && a.residual2.present(), {"has no second residual with a gated activation"})});
}

cuda::MatmulProblem sm90_problem(const LinearQ8Args& a, cuda::Variant& base, const Epilogue& epilogue) {
  cuda::MatmulProblem p{};
  const bool int8 = a.x.dtype == DType::i8, bf16 = a.y.dtype == DType::bf16;
  p.symbolPrefix = int8   ? bf16 ? "linear_q8_sm90_i8_bf16_" : "linear_q8_sm90_i8_f16_"
                   : bf16 ? "linear_q8_sm90_f8e4m3_bf16_"
                          : "linear_q8_sm90_f8e4m3_f16_";
  p.x = a.x;
  for (int i = 0; i < 3; ++i) {
    p.source[i] = p.out[i] = 1;
    p.kernel[i] = p.stride[i] = 1;
  }
  p.source[3] = p.out[3] = a.x.pixels();
  p.channels = a.x.channels();
  p.phases = 1;
  p.columns = a.weight.dim(0);
  p.gated = is_gated(a.act);
  p.suffix = !p.gated ? "" : a.act == Activation::swiglu ? "_swiglu" : "_geglu";
  p.untyped = cuda::typed_epilogue_reason(cuda::epilogue_operands(a), bf16 ? DType::bf16 : DType::f16);
  p.weightChannels = static_cast<int64_t>(cuda::round_up(p.channels, 16));
  p.constantWeights = a.weight.constant;
  p.weights = cuda::pack_codes(base, a.weight, p.weightChannels, 1, kPackCodes);
  const cuda::ScaleSources scales = cuda::make_scales(base, a.xScale, a.weightScale, kPack);
  p.scales = scales.scales;
  p.weightScales = scales.weight;
  p.blocked = scales.blocked;
  p.epilogue = epilogue;
  p.bias = cuda::float_bias(base, a.bias, kPack);
  return p;
}

cuda::ScaledMmaProblem mma_problem(const LinearQ8Args& a, const Epilogue& epilogue) {
  cuda::ScaledMmaProblem problem{};
  problem.op = a.act == Activation::swiglu ? "linear_q8_swiglu" : "linear_q8";
  problem.type = a.x.dtype;
  MatmulMmaParams& p = problem.params;
  p.x = a.x.data;
  p.epilogue = epilogue;
  p.pitch = a.x.pitch;
  for (int i = 0; i < 3; ++i) p.source[i] = p.out[i] = p.kernel[i] = p.stride[i] = 1;
  p.rows = static_cast<int32_t>(a.x.pixels());
  p.source[2] = p.out[2] = p.rows;
  p.columns = static_cast<int32_t>(a.weight.dim(0));
  p.channels = static_cast<int32_t>(a.x.channels());
  p.depth = p.tapChannels = static_cast<int32_t>(cuda::round_up(p.channels, 16));
  p.gated = is_gated(a.act);
  problem.weights = cuda::pack_codes(problem.base, a.weight, p.depth, 1, kPackCodes);
  problem.scales = cuda::make_scales(problem.base, a.xScale, a.weightScale, kPack);
  problem.unchunked = cuda::access_reason(a.x, "x", 16, true);
  return problem;
}

}  // namespace

cuda::Candidates linear_q8_cuda_variants(const LinearQ8Args& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (!out.allows({"*"}, cuda::if_so(a.x.dtype != a.weight.dtype, {"has another element type than x", {}, "weight"}))) return out;
  const Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2));
  if (out.allows({cuda::kMatmulSm90Family}, sm90_reason(a, device))) {
    cuda::Variant base;
    const cuda::MatmulProblem problem = sm90_problem(a, base, epilogue);
    cuda::add_matmul_sm90(problem, base, device, out);
    for (cuda::Variant& variant : out.variants) variant.launches.back().overlapped = true;
  }
  cuda::add_scaled_mma(mma_problem(a, epilogue), device, out);
  return out;
}

}  // namespace vd
