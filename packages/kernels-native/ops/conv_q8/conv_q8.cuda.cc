#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/channel_moments.h"
#include "../../native/cuda/planning/conv_geometry.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/matmul_scaled.h"

namespace vd {

namespace {

using namespace device;

constexpr const char* kPack = "conv_q8_pack";
constexpr const char* kPackCodes = "conv_q8_pack_codes";

/** Why the Hopper core cannot do the row, whatever the tile. */
cuda::Reason sm90_reason(const ConvQ8Args& a, const cuda::DeviceInfo& device) {
  const bool large = a.stride[0] > 8 || a.stride[1] > 8 || a.stride[2] > 8;
  return cuda::first_of(
      {cuda::wgmma_reason(device), cuda::copy_engine_access_reason(a.x, "x"), cuda::if_so(large, {"has no strides above 8"})});
}

cuda::MatmulProblem sm90_problem(const ConvQ8Args& a, cuda::Variant& base, const Epilogue& epilogue) {
  cuda::MatmulProblem p{};
  const bool int8 = a.x.dtype == DType::i8, bf16 = a.y.dtype == DType::bf16;
  p.symbolPrefix = int8   ? bf16 ? "conv_q8_sm90_i8_bf16_" : "conv_q8_sm90_i8_f16_"
                   : bf16 ? "conv_q8_sm90_f8e4m3_bf16_"
                          : "conv_q8_sm90_f8e4m3_f16_";
  p.x = a.x;
  p.phases = 1;
  for (int i = 0; i < 4; ++i) {
    p.source[i] = a.x.dim(i);
    p.out[i] = a.y.dim(i);
  }
  for (int i = 0; i < 3; ++i) {
    p.kernel[i] = static_cast<int>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int>(a.stride[i]);
    p.padding[i] = static_cast<int>(a.padding[2 * i]);
  }
  cuda::join_axes(p);
  p.channels = a.x.channels();
  p.columns = a.y.channels();
  p.weightChannels = static_cast<int64_t>(cuda::round_up(p.channels, 16));
  p.constantWeights = a.weight.constant;
  p.weights = cuda::pack_codes(base, a.weight, p.weightChannels, p.kernel[0] * p.kernel[1] * p.kernel[2], kPackCodes);
  p.moments = a.moments.present();
  p.wide = true;
  p.untyped = cuda::typed_epilogue_reason(cuda::epilogue_operands(a), bf16 ? DType::bf16 : DType::f16);
  const cuda::ScaleSources scales = cuda::make_scales(base, a.xScale, a.weightScale, kPack);
  p.scales = scales.scales;
  p.weightScales = scales.weight;
  p.epilogue = epilogue;
  p.bias = cuda::float_bias(base, a.bias, kPack);
  return p;
}

cuda::ScaledMmaProblem mma_problem(const ConvQ8Args& a, const Epilogue& epilogue) {
  cuda::ScaledMmaProblem problem{};
  problem.op = "conv_q8";
  problem.type = a.x.dtype;
  MatmulMmaParams& p = problem.params;
  p.x = a.x.data;
  p.epilogue = epilogue;
  p.pitch = a.x.pitch;
  int taps = 1;
  for (int i = 0; i < 3; ++i) {
    p.source[i] = static_cast<int32_t>(a.x.dim(1 + i));
    p.out[i] = static_cast<int32_t>(a.y.dim(1 + i));
    p.kernel[i] = static_cast<int32_t>(a.weight.dim(2 + i));
    p.stride[i] = static_cast<int32_t>(a.stride[i]);
    p.padding[i] = static_cast<int32_t>(a.padding[2 * i]);
    taps *= p.kernel[i];
  }
  p.rows = static_cast<int32_t>(a.y.pixels());
  p.columns = static_cast<int32_t>(a.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels());
  p.tapChannels = static_cast<int32_t>(cuda::round_up(p.channels, 16));
  p.depth = taps * p.tapChannels;
  problem.weights = cuda::pack_codes(problem.base, a.weight, p.tapChannels, taps, kPackCodes);
  problem.scales = cuda::make_scales(problem.base, a.xScale, a.weightScale, kPack);
  problem.unchunked = cuda::access_reason(a.x, "x", 16, true);
  return problem;
}

/** The tile whose kernel is the only one where a plan is batch-invariant, by the filters alone: the fastest of those that leave moments. */
const char* invariant_tile(const ConvQ8Args& a) {
  const int64_t columns = a.y.channels(), taps = a.weight.dim(2) * a.weight.dim(3) * a.weight.dim(4);
  const bool wide = columns % 128 != 0 && columns % 160 == 0;
  const bool one = a.x.dtype == DType::f8e4m3 && cuda::ceil_div(a.x.channels(), 128) * taps <= kMostUnpromotedBlocks;
  if (wide) return one ? "sm90_m128n160ps" : "sm90_m128n160p";
  return columns % 256 == 0 ? "sm90_m128n256pw" : "sm90_m256n128pw";
}

}  // namespace

cuda::Candidates conv_q8_cuda_variants(const ConvQ8Args& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (!out.allows({"*"}, cuda::if_so(a.x.dtype != a.weight.dtype, {"has another element type than x", {}, "weight"}))) return out;
  const Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(a), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  if (out.allows({cuda::kMatmulSm90Family}, sm90_reason(a, device))) {
    cuda::Variant base;
    const cuda::MatmulProblem problem = sm90_problem(a, base, epilogue);
    cuda::add_matmul_sm90(problem, base, device, out);
    for (cuda::Variant& variant : out.variants) variant.launches.back().overlapped = true;
  }
  cuda::add_scaled_mma(mma_problem(a, epilogue), device, out);
  cuda::add_channel_moments({"conv_q8", a.y, a.moments, invariant_tile(a)}, out);
  return out;
}

}  // namespace vd
