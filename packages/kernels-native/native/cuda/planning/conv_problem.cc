#include "conv_problem.h"

#include "conv_geometry.h"
#include "epilogue.h"

namespace vd::cuda {

using namespace device;

namespace {

bool is_unit_upsample(const ConvArgs& a) {
  const int64_t* k = a.weight.dims;
  const bool kernel = k[2] == 1 && k[3] == 3 && k[4] == 3;
  const bool stride = a.stride[0] == 1 && a.stride[1] == 1 && a.stride[2] == 1;
  const int64_t* p = a.padding;
  return kernel && stride && p[0] == 0 && p[1] == 0 && p[2] == 1 && p[3] == 1 && p[4] == 1 && p[5] == 1;
}

}  // namespace

bool has_phases(const ConvArgs& a) { return a.upsample || a.transposed; }

bool shares_filters(const ConvArgs& a) { return a.upsample && a.x.dtype == DType::f32; }

Address pack_conv_filters(Variant& base, const ConvArgs& a, int taps, int64_t paddedChannels) {
  PackParams p{};
  const bool phases = has_phases(a) && !shares_filters(a);
  p.kind = !phases ? PackKind::conv : a.upsample ? PackKind::convUpsample : PackKind::convTransposed;
  p.rows = static_cast<int32_t>(a.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels() / a.groups);
  p.paddedChannels = static_cast<int32_t>(paddedChannels);
  p.taps = taps;
  p.count = (phases ? 4ll : 1ll) * p.rows * taps * paddedChannels;
  p.targetType = static_cast<int32_t>(a.x.dtype);
  return Address::packed(add_pack(base, a.weight, "conv_pack", p));
}

Reason conv_sm90_reason(const ConvArgs& a, const DeviceInfo& device) {
  const bool large = a.stride[0] > 8 || a.stride[1] > 8 || a.stride[2] > 8;
  const int64_t channels = a.x.channels() / a.groups;
  return first_of({wgmma_reason(device), product_source_reason(a.x, a.weight.dtype, "x"),
                   if_so(a.past.present(), product_source_reason(a.past, a.weight.dtype, "past")), if_so(large, {"has no strides above 8"}),
                   if_so(a.upsample && !is_unit_upsample(a), {"upsamples only before 3x3 filters with a padding of 1"}),
                   if_so(a.groups > 1 && has_phases(a), {"has no groups where results are four phases"}),
                   if_so(a.groups > 1 && channels % 8 != 0, {"is for groups of multiples of # channels, they have #", {8, channels}})});
}

MatmulProblem conv_sm90_problem(const ConvArgs& a, Variant& base, const Epilogue& epilogue) {
  MatmulProblem p{};
  p.symbolPrefix = a.x.dtype == DType::f32 ? "conv_sm90_f32_" : a.x.dtype == DType::f16 ? "conv_sm90_f16_" : "conv_sm90_bf16_";
  p.x = a.x;
  p.phases = has_phases(a) ? 4 : 1;
  p.sharedFilters = shares_filters(a);
  p.clip = reads_clip(a);
  p.past = a.past;
  p.replicate = a.framePadding == FramePadding::replicate;
  p.suffix = p.clip ? "_clip" : "";
  for (int i = 0; i < 4; ++i) {
    p.source[i] = a.x.dim(i);
    p.out[i] = a.y.dim(i) / (p.phases == 4 && i >= 2 ? 2 : 1);
  }
  for (int i = 0; i < 3; ++i) {
    p.kernel[i] = p.phases == 4 && !p.sharedFilters && i > 0 ? 2 : static_cast<int>(a.weight.dim(2 + i));
    p.stride[i] = a.transposed ? 1 : static_cast<int>(a.stride[i]);
    p.padding[i] = static_cast<int>(a.padding[2 * i]);
  }
  p.padding[0] += past_frames(a);
  join_axes(p);
  p.channels = a.x.channels() / a.groups;
  p.groups = a.groups;
  p.columns = a.y.channels();
  p.weightChannels = static_cast<int64_t>(round_up(p.channels, 8));
  p.constantWeights = a.weight.constant;
  p.weights = pack_conv_filters(base, a, p.kernel[0] * p.kernel[1] * p.kernel[2], p.weightChannels);
  p.moments = a.moments.present();
  p.wide = true;
  p.untyped = typed_epilogue_reason(epilogue_operands(a), a.x.dtype);
  p.epilogue = epilogue;
  p.bias = float_bias(base, a.bias, "conv_pack");
  return p;
}

}  // namespace vd::cuda
