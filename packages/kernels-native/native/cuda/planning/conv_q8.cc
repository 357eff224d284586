#include "conv_q8.h"

#include "conv_geometry.h"
#include "matmul_scaled.h"

namespace vd::cuda {

using namespace device;

namespace {

constexpr const char* kPack = "conv_q8_pack";
constexpr const char* kPackCodes = "conv_q8_pack_codes";

/** Why the Hopper core cannot do the row, whatever the tile. */
Reason sm90_reason(const ConvQ8Operands& a, const DeviceInfo& device) {
  const bool large = a.stride[0] > 8 || a.stride[1] > 8 || a.stride[2] > 8;
  return first_of({wgmma_reason(device), copy_engine_access_reason(a.x, "x"), if_so(large, {"has no strides above 8"})});
}

MatmulProblem sm90_problem(const ConvQ8Operands& a, Variant& base, const Epilogue& epilogue) {
  MatmulProblem p{};
  const bool int8 = a.x.dtype == DType::i8, bf16 = tail_type(a.tail) == DType::bf16;
  p.symbolPrefix = int8   ? bf16 ? "conv_q8_sm90_i8_bf16_" : "conv_q8_sm90_i8_f16_"
                   : bf16 ? "conv_q8_sm90_f8e4m3_bf16_"
                          : "conv_q8_sm90_f8e4m3_f16_";
  p.x = a.x;
  p.phases = 1;
  for (int i = 0; i < 4; ++i) {
    p.source[i] = a.x.dim(i);
    p.out[i] = a.tail.y.dim(i);
  }
  for (int i = 0; i < 3; ++i) {
    p.kernel[i] = static_cast<int>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int>(a.stride[i]);
    p.padding[i] = static_cast<int>(a.padding[2 * i]);
  }
  join_axes(p);
  p.codes = a.yScale != nullptr;
  p.moments = a.moments;
  p.wide = true;
  p.channels = a.x.channels();
  p.columns = a.tail.y.channels();
  p.weightChannels = static_cast<int64_t>(round_up(p.channels, 16));
  p.constantWeights = a.weight.constant;
  p.weights = pack_codes(base, a.weight, p.weightChannels, p.kernel[0] * p.kernel[1] * p.kernel[2], kPackCodes);
  p.untyped = typed_epilogue_reason(a.tail, bf16 ? DType::bf16 : DType::f16);
  const ScaleSources scales = make_scales(base, 0, a.xScale, a.weightScale, kPack);
  p.scales = scales.scales;
  p.weightScales = scales.weight;
  p.epilogue = epilogue;
  p.bias = float_bias(base, a.tail.bias, kPack);
  return p;
}

ScaledMmaProblem mma_problem(const ConvQ8Operands& a, const Epilogue& epilogue) {
  ScaledMmaProblem problem{};
  problem.op = "conv_q8";
  problem.type = a.x.dtype;
  MatmulMmaParams& p = problem.params;
  p.x = a.x.data;
  p.epilogue = epilogue;
  p.pitch = a.x.pitch;
  int taps = 1;
  for (int i = 0; i < 3; ++i) {
    p.source[i] = static_cast<int32_t>(a.x.dim(1 + i));
    p.out[i] = static_cast<int32_t>(a.tail.y.dim(1 + i));
    p.kernel[i] = static_cast<int32_t>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int32_t>(a.stride[i]);
    p.padding[i] = static_cast<int32_t>(a.padding[2 * i]);
    taps *= p.kernel[i];
  }
  p.rows = static_cast<int32_t>(a.tail.y.pixels());
  p.columns = static_cast<int32_t>(a.tail.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels());
  p.tapChannels = static_cast<int32_t>(round_up(p.channels, 16));
  p.depth = taps * p.tapChannels;
  problem.weights = pack_codes(problem.base, a.weight, p.tapChannels, taps, kPackCodes);
  problem.scales = make_scales(problem.base, 0, a.xScale, a.weightScale, kPack);
  problem.unchunked = access_reason(a.x, "x", 16, true);
  return problem;
}

}  // namespace

void add_conv_q8(const ConvQ8Operands& a, const DeviceInfo& device, Candidates& out) {
  if (!out.allows({"*"}, if_so(a.x.dtype != a.weight.dtype, {"has another element type than x", {}, "weight"}))) return;
  Epilogue epilogue = make_epilogue(a.tail, a.tail.y.dim(1), a.tail.y.dim(2) * a.tail.y.dim(3));
  epilogue.yScale = a.yScale;
  if (out.allows({kMatmulSm90Family}, sm90_reason(a, device))) {
    Variant base;
    const MatmulProblem problem = sm90_problem(a, base, epilogue);
    add_matmul_sm90(problem, base, device, out);
    for (Variant& variant : out.variants) variant.launches.back().overlapped = true;
  }
  add_scaled_mma(mma_problem(a, epilogue), device, out);
}

}  // namespace vd::cuda
