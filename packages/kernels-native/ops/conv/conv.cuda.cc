#include "../../native/generated/op_planners.h"

#include "../../device/matmul_mma.h"
#include "../../device/plan.h"

namespace vd {

namespace {

using namespace device;

bool is_unit_upsample(const ConvArgs& a) {
  const int64_t* k = a.weight.dims;
  const bool kernel = k[2] == 1 && k[3] == 3 && k[4] == 3;
  const bool stride = a.stride[0] == 1 && a.stride[1] == 1 && a.stride[2] == 1;
  const int64_t* p = a.padding;
  return kernel && stride && p[0] == 0 && p[1] == 0 && p[2] == 1 && p[3] == 1 && p[4] == 1 && p[5] == 1;
}

bool fits_sm90(const ConvArgs& a, const cuda::DeviceInfo& device) {
  if (!device.hasWgmma || !copyable(a.x) || a.stride[0] > 8 || a.stride[1] > 8 || a.stride[2] > 8) return false;
  return !a.upsample || is_unit_upsample(a);
}

/** Weights [phases, K, taps, C'] in x's type. */
cuda::Address pack_filters(cuda::Plan& plan, const ConvArgs& a, int taps, int64_t paddedChannels) {
  PackParams p{};
  p.kind = a.upsample ? PackKind::convUpsample : PackKind::conv;
  p.rows = static_cast<int32_t>(a.weight.dim(0));
  p.channels = static_cast<int32_t>(a.weight.dim(1));
  p.paddedChannels = static_cast<int32_t>(paddedChannels);
  p.taps = taps;
  p.count = (a.upsample ? 4ll : 1ll) * p.rows * taps * paddedChannels;
  p.targetType = static_cast<int32_t>(a.x.dtype);
  return cuda::Address::packed(add_pack(plan, a.weight, "conv_pack", p));
}

MatmulProblem hopper_problem(const ConvArgs& a, cuda::Plan& plan, const Epilogue& epilogue) {
  MatmulProblem p{};
  p.symbolPrefix = a.x.dtype == DType::f16 ? "conv_sm90_f16_" : "conv_sm90_bf16_";
  p.x = a.x;
  p.phases = a.upsample ? 4 : 1;
  for (int i = 0; i < 4; ++i) {
    p.source[i] = a.x.dim(i);
    p.out[i] = a.y.dim(i) / (a.upsample && i >= 2 ? 2 : 1);
  }
  for (int i = 0; i < 3; ++i) {
    p.kernel[i] = a.upsample && i > 0 ? 2 : static_cast<int>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int>(a.stride[i]);
    p.padding[i] = static_cast<int>(a.padding[2 * i]);
  }
  // Frames that do not mix are one long run of frames; pixels that do not mix are one long row.
  if (p.kernel[0] == 1 && p.stride[0] == 1 && p.padding[0] == 0 && p.out[1] == p.source[1]) {
    p.source[1] = p.out[1] = p.source[0] * p.source[1];
    p.source[0] = p.out[0] = 1;
  }
  const bool pointwise = p.kernel[1] == 1 && p.kernel[2] == 1 && p.stride[1] == 1 && p.stride[2] == 1 && p.padding[1] == 0 &&
                         p.padding[2] == 0 && p.out[2] == p.source[2] && p.out[3] == p.source[3];
  if (pointwise && p.phases == 1) {
    p.source[3] = p.out[3] = p.source[2] * p.source[3];
    p.source[2] = p.out[2] = 1;
    if (p.source[0] == 1 && p.kernel[0] == 1 && p.stride[0] == 1 && p.padding[0] == 0) {
      p.source[3] = p.out[3] = p.source[1] * p.source[3];
      p.source[1] = p.out[1] = 1;
    }
  }
  p.channels = a.x.channels();
  p.columns = a.y.channels();
  p.weightChannels = static_cast<int64_t>(cuda::round_up(p.channels, 8));
  p.weights = pack_filters(plan, a, p.kernel[0] * p.kernel[1] * p.kernel[2], p.weightChannels);
  p.epilogue = epilogue;
  p.bias = float_bias(plan, a.bias, "conv_pack");
  return p;
}

}  // namespace

std::vector<cuda::Plan> plan_conv_cuda(const ConvArgs& a, const cuda::DeviceInfo& device) {
  const EpilogueOperands operands{a.bias, a.frameBias, a.residual, a.residual2, a.y, a.act, a.outScale, a.residualScale,
                                  a.residual2Scale};
  const Epilogue epilogue = make_epilogue(operands, a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  std::vector<cuda::Plan> plans;
  std::vector<cuda::Plan> portable = plan_conv_mma(a, epilogue, device);
  const std::string& first = portable.front().variant;
  const bool few = first.starts_with("conv_few") || first.starts_with("conv_narrow");
  if (few) plans.push_back(std::move(portable.front()));
  if (fits_sm90(a, device)) {
    cuda::Plan base;
    MatmulProblem problem = hopper_problem(a, base, epilogue);
    problem.typed = typed_epilogue(operands, epilogue, a.x.dtype);
    for (cuda::Plan& plan : plan_matmul_sm90(problem, base, device)) plans.push_back(std::move(plan));
  }
  for (size_t i = few ? 1 : 0; i < portable.size(); ++i) plans.push_back(std::move(portable[i]));
  return plans;
}

}  // namespace vd
