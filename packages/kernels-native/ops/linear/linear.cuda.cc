#include "../../native/generated/op_planners.h"

#include "../../device/matmul_mma.h"
#include "../../device/plan.h"

namespace vd {

namespace {

using namespace device;

bool fits_sm90(const LinearArgs& a, const cuda::DeviceInfo& device) {
  if (!device.hasWgmma || !copyable(a.x) || a.x.channels() % 8 != 0) return false;
  if (a.x2.present() && (!copyable(a.x2) || a.x2.dtype != a.x.dtype || a.x2.channels() % 8 != 0)) return false;
  return a.act != Activation::geglu || (a.y.channels() % 8 == 0 && !a.frameBias.present() && !a.residual2.present());
}

MatmulProblem hopper_problem(const LinearArgs& a, cuda::Plan& plan, const Epilogue& epilogue) {
  MatmulProblem p{};
  p.symbolPrefix = a.x.dtype == DType::f16 ? "linear_sm90_f16_" : "linear_sm90_bf16_";
  p.x = a.x;
  p.x2 = a.x2;
  const int64_t rows = a.x.pixels();
  for (int i = 0; i < 3; ++i) {
    p.source[i] = p.out[i] = 1;
    p.kernel[i] = p.stride[i] = 1;
  }
  p.source[3] = p.out[3] = rows;
  p.channels = a.x.channels();
  p.channels2 = a.x2.present() ? a.x2.channels() : 0;
  p.phases = 1;
  p.columns = a.weight.dim(0);
  p.geglu = a.act == Activation::geglu;
  p.weights = weight_matrix(plan, a.weight, a.x.dtype, "linear_pack");
  p.weightChannels = a.weight.channels();
  p.epilogue = epilogue;
  p.bias = float_bias(plan, a.bias, "linear_pack");
  return p;
}

}  // namespace

std::vector<cuda::Plan> plan_linear_cuda(const LinearArgs& a, const cuda::DeviceInfo& device) {
  const EpilogueOperands operands{a.bias, a.frameBias, a.residual, a.residual2, a.y, a.act, a.outScale, a.residualScale,
                                  a.residual2Scale};
  const Epilogue epilogue = make_epilogue(operands, a.y.dim(1), a.y.dim(2));
  std::vector<cuda::Plan> plans;
  if (fits_sm90(a, device)) {
    cuda::Plan base;
    MatmulProblem problem = hopper_problem(a, base, epilogue);
    problem.typed = typed_epilogue(operands, epilogue, a.x.dtype);
    plans = plan_matmul_sm90(problem, base, device);
  }
  for (cuda::Plan& plan : plan_linear_mma(a, epilogue, device)) plans.push_back(std::move(plan));
  return plans;
}

}  // namespace vd
