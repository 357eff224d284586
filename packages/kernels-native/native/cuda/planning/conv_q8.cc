#include "conv_q8.h"

#include <utility>

#include "conv_geometry.h"
#include "matmul_scaled.h"

namespace vd::cuda {

using namespace device;

namespace {

constexpr const char* kPack = "conv_q8_pack";
constexpr const char* kPackCodes = "conv_q8_pack_codes";
constexpr const char* kPackPhases = "conv_q8_pack_phases";
/** Taps of one phase of a transposed convolution. */
constexpr int kPhaseTaps = 4;

/** Codes of filters as [K, taps, C'], those of a transposed convolution as [4, K, 2x2, C']. */
Address pack_filters(Variant& base, const ConvQ8Operands& a, int64_t paddedChannels) {
  if (!a.transposed)
    return pack_codes(base, a.weight, paddedChannels, static_cast<int>(a.weight.dim(2) * a.weight.dim(3) * a.weight.dim(4)), kPackCodes);
  PackParams p{};
  p.kind = PackKind::convTransposed;
  p.rows = static_cast<int32_t>(a.tail.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels());
  p.paddedChannels = static_cast<int32_t>(paddedChannels);
  p.taps = kPhaseTaps;
  p.count = 4ll * p.rows * p.taps * paddedChannels;
  p.targetType = static_cast<int32_t>(a.weight.dtype);
  return Address::packed(add_pack(base, a.weight, kPackPhases, p));
}

/** Why the Hopper core cannot do the row, whatever the tile. */
Reason sm90_reason(const ConvQ8Operands& a, const DeviceInfo& device) {
  const bool large = a.stride[0] > 8 || a.stride[1] > 8 || a.stride[2] > 8;
  return first_of({wgmma_reason(device), copy_engine_access_reason(a.x, "x"), if_so(large, {"has no strides above 8"})});
}

/** The row on the portable cores but for its weights. */
ScaledMmaProblem mma_shape(const ConvQ8Operands& a, const Epilogue& epilogue) {
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
  problem.scales = make_scales(problem.base, 0, a.xScale, a.weightScale, kPack);
  problem.unchunked = access_reason(a.x, "x", 16, true);
  return problem;
}

ScaledMmaProblem mma_problem(const ConvQ8Operands& a, const Epilogue& epilogue) {
  ScaledMmaProblem problem = mma_shape(a, epilogue);
  problem.weights = pack_filters(problem.base, a, problem.params.tapChannels);
  return problem;
}

/** One phase of a transposed row: 2x2 filters over x, whose results are every second row and column of y. */
ScaledMmaProblem phase_problem(const ConvQ8Operands& a, const Epilogue& epilogue, int phase) {
  ScaledMmaProblem problem = mma_shape(a, epilogue);
  problem.op = "conv_q8_phase";
  MatmulMmaParams& p = problem.params;
  for (int i = 1; i < 3; ++i) {
    p.out[i] = p.source[i];
    p.kernel[i] = 2;
    p.stride[i] = 1;
  }
  p.phaseStep = 2;
  p.phaseRow = phase >> 1;
  p.phaseColumn = phase & 1;
  p.padding[1] = 1 - p.phaseRow;
  p.padding[2] = 1 - p.phaseColumn;
  p.rows = static_cast<int32_t>(a.x.pixels());
  p.depth = kPhaseTaps * p.tapChannels;
  const Address filters = pack_filters(problem.base, a, p.tapChannels);
  problem.weights = Address::packed(filters.pack, static_cast<uint64_t>(phase) * p.columns * p.depth);
  return problem;
}

/** Adds the portable cores: a launch, or for a transposed row one for each phase. */
void add_portable(const ConvQ8Operands& a, const Epilogue& epilogue, const DeviceInfo& device, Candidates& out) {
  if (!a.transposed) return add_scaled_mma(mma_problem(a, epilogue), device, out);
  Candidates phases(PlanningOptions{.batchInvariant = true});
  for (int phase = 0; phase < 4; ++phase) {
    Candidates one(PlanningOptions{.batchInvariant = true});
    add_scaled_mma(phase_problem(a, epilogue, phase), device, one);
    if (phase == 0) phases = std::move(one);
    else join_launches(phases, one);
  }
  for (Variant& variant : phases.variants) out.add(std::move(variant));
}

}  // namespace

MatmulProblem conv_q8_sm90_problem(const ConvQ8Operands& a, Variant& base, const Epilogue& epilogue) {
  MatmulProblem p{};
  const bool int8 = a.weight.dtype == DType::i8, bf16 = tail_type(a.tail) == DType::bf16;
  p.symbolPrefix = int8   ? bf16 ? "conv_q8_sm90_i8_bf16_" : "conv_q8_sm90_i8_f16_"
                   : bf16 ? "conv_q8_sm90_f8e4m3_bf16_"
                          : "conv_q8_sm90_f8e4m3_f16_";
  p.x = a.x;
  p.phases = a.transposed ? 4 : 1;
  for (int i = 0; i < 4; ++i) {
    p.source[i] = a.x.dim(i);
    p.out[i] = a.tail.y.dim(i) / (a.transposed && i >= 2 ? 2 : 1);
  }
  for (int i = 0; i < 3; ++i) {
    p.kernel[i] = a.transposed && i > 0 ? 2 : static_cast<int>(a.weight.dim(2 + i));
    p.stride[i] = a.transposed ? 1 : static_cast<int>(a.stride[i]);
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
  p.weights = pack_filters(base, a, p.weightChannels);
  p.untyped = typed_epilogue_reason(a.tail, bf16 ? DType::bf16 : DType::f16);
  const ScaleSources scales = make_scales(base, 0, a.xScale, a.weightScale, kPack);
  p.scales = scales.scales;
  p.weightScales = scales.weight;
  p.epilogue = epilogue;
  p.bias = float_bias(base, a.tail.bias, kPack);
  return p;
}

void add_conv_q8(const ConvQ8Operands& a, const DeviceInfo& device, Candidates& out) {
  if (!out.allows({"*"}, if_so(a.x.dtype != a.weight.dtype, {"has another element type than x", {}, "weight"}))) return;
  Epilogue epilogue = make_epilogue(a.tail, a.tail.y.dim(1), a.tail.y.dim(2) * a.tail.y.dim(3));
  epilogue.yScale = a.yScale;
  if (out.allows({kMatmulSm90Family}, sm90_reason(a, device))) {
    Variant base;
    const MatmulProblem problem = conv_q8_sm90_problem(a, base, epilogue);
    add_matmul_sm90(problem, base, device, out);
    for (Variant& variant : out.variants) variant.launches.back().overlapped = true;
  }
  add_portable(a, epilogue, device, out);
}

}  // namespace vd::cuda
