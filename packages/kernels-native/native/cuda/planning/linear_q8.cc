#include "linear_q8.h"

#include "../../core/activation.h"
#include "matmul_scaled.h"

namespace vd::cuda {

using namespace device;

namespace {

constexpr const char* kPack = "linear_q8_pack";
constexpr const char* kPackCodes = "linear_q8_pack_codes";

ScaledMmaProblem mma_problem(const LinearQ8Operands& a, const Epilogue& epilogue) {
  ScaledMmaProblem problem{};
  problem.op = a.tail.act == Activation::swiglu ? "linear_q8_swiglu" : "linear_q8";
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
  p.depth = p.tapChannels = static_cast<int32_t>(round_up(p.channels, 16));
  p.gated = is_gated(a.tail.act);
  problem.weights = pack_codes(problem.base, a.weight, p.depth, 1, kPackCodes);
  problem.scales = make_scales(problem.base, a.x.pixels(), a.xScale, a.weightScale, kPack);
  problem.unchunked = access_reason(a.x, "x", 16, true);
  return problem;
}

}  // namespace

Reason linear_q8_sm90_reason(const LinearQ8Operands& a, const DeviceInfo& device) {
  const bool gated = is_gated(a.tail.act);
  return first_of({wgmma_reason(device), copy_engine_access_reason(a.x, "x"),
                   if_so(gated && a.tail.y.channels() % 8 != 0, {"has # channels, which 8 does not divide", {a.tail.y.channels()}, "y"}),
                   if_so(gated && a.tail.frameBias.present(), {"has no frame bias with a gated activation"}),
                   if_so(gated && a.tail.residual2.present(), {"has no second residual with a gated activation"})});
}

MatmulProblem linear_q8_sm90_problem(const LinearQ8Operands& a, Variant& base, const Epilogue& epilogue) {
  MatmulProblem p{};
  const bool int8 = a.weight.dtype == DType::i8, bf16 = tail_type(a.tail) == DType::bf16;
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
  p.gated = is_gated(a.tail.act);
  p.codes = a.yScale != nullptr;
  p.wide = !int8;
  p.suffix = !p.gated ? "" : a.tail.act == Activation::swiglu ? "_swiglu" : "_geglu";
  p.untyped = typed_epilogue_reason(a.tail, bf16 ? DType::bf16 : DType::f16);
  p.weightChannels = static_cast<int64_t>(round_up(p.channels, 16));
  p.constantWeights = a.weight.constant;
  p.weights = pack_codes(base, a.weight, p.weightChannels, 1, kPackCodes);
  const ScaleSources scales = make_scales(base, a.x.pixels(), a.xScale, a.weightScale, kPack);
  p.scales = scales.scales;
  p.weightScales = scales.weight;
  p.blocked = scales.blocked;
  p.epilogue = epilogue;
  p.bias = float_bias(base, a.tail.bias, kPack);
  return p;
}

void add_linear_q8(const LinearQ8Operands& a, const DeviceInfo& device, Candidates& out) {
  if (!out.allows({"*"}, if_so(a.x.dtype != a.weight.dtype, {"has another element type than x", {}, "weight"}))) return;
  Epilogue epilogue = make_epilogue(a.tail, a.tail.y.dim(1), a.tail.y.dim(2));
  epilogue.yScale = a.yScale;
  if (out.allows({kMatmulSm90Family}, linear_q8_sm90_reason(a, device))) {
    Variant base;
    const MatmulProblem problem = linear_q8_sm90_problem(a, base, epilogue);
    add_matmul_sm90(problem, base, device, out);
    for (Variant& variant : out.variants) variant.launches.back().overlapped = true;
  }
  add_scaled_mma(mma_problem(a, epilogue), device, out);
}

}  // namespace vd::cuda
