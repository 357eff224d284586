// Plans the kernels on tensor cores for results that meet few channels: groups of 8 to 32, and 8 or 16 channels in all.
#include <utility>

#include "../../native/cuda/planning/epilogue.h"
#include "conv_plans.h"

namespace vd {

namespace {

using namespace device;

/** Why no such kernel can do the row, whatever its channels. */
cuda::Reason mma_filter_reason(const ConvArgs& a, const cuda::DeviceInfo& device) {
  const bool filter = a.weight.dim(2) == 1 && a.weight.dim(3) == 3 && a.weight.dim(4) == 3;
  const bool step = a.stride[0] == 1 && a.stride[1] == 1 && a.stride[2] == 1 && !a.upsample;
  const bool frames = !a.past.present() && a.padding[0] == 0 && a.padding[1] == 0;
  return cuda::first_of(
      {cuda::if_so(!cuda::is_16_bit(a.x.dtype), {"is for x of 16 bits"}), cuda::if_so(a.x.dtype != DType::f16, cuda::sm80_reason(device)),
       cuda::if_so(!filter || a.transposed, {"is for filters of 1x3x3"}), cuda::if_so(!step, {"has no strides and no upsampling"}),
       cuda::if_so(!frames, {"has no past frames and none of padding"}), cuda::access_reason(a.x, "x", 8, true),
       cuda::typed_epilogue_reason(cuda::epilogue_operands(a), a.x.dtype)});
}

cuda::Reason groups_reason(const ConvArgs& a, const cuda::DeviceInfo& device) {
  const int64_t channels = a.x.channels() / a.groups, columns = a.y.channels() / a.groups;
  const bool known = channels == columns && (channels == 8 || channels == 16 || channels == 32);
  return cuda::first_of({cuda::if_so(!known, {"is for groups of 8, 16 or 32 channels to as many, they have # and #", {channels, columns}}),
                         mma_filter_reason(a, device)});
}

cuda::Reason thin_reason(const ConvArgs& a, const cuda::DeviceInfo& device) {
  const int64_t channels = a.x.channels();
  return cuda::first_of(
      {cuda::if_so(channels != 8 && channels != 16, {"is for 8 or 16 channels, x has #", {channels}}), mma_filter_reason(a, device)});
}

/** The kernel whose blocks have `height` rows. */
cuda::Variant mma_variant(const ConvArgs& a, const std::string& symbol, int64_t height) {
  constexpr int64_t kThreads = 128, kChannels = 64, kWarpChannels = 32;
  ConvGroupsParams p = conv_groups_params(a);
  p.items = a.y.dim(0) * a.y.dim(1) * cuda::ceil_div(a.y.dim(2), height) * cuda::ceil_div(a.y.dim(3), kGroupsMmaW);
  PackParams pack = conv_groups_pack(a);
  pack.kind = PackKind::convGroupsMma;
  pack.paddedChannels = static_cast<int32_t>(cuda::round_up(3 * p.groupChannels, 16));
  // A warp reads the weights of all its channels.
  pack.count = int64_t{3} * static_cast<int64_t>(cuda::round_up(pack.rows, kWarpChannels)) * pack.paddedChannels;
  pack.targetType = static_cast<int32_t>(a.x.dtype);
  cuda::Variant variant = conv_groups_variant(a, p, pack, symbol, kThreads, p.items * cuda::ceil_div(a.y.channels(), kChannels));
  give_float_bias(a, variant);
  return variant;
}

}  // namespace

void add_conv_groups_mma(const ConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!out.allows({"conv_groups_mma*"}, groups_reason(a, device))) return;
  std::string name = "conv_groups_mma";
  name += std::to_string(a.x.channels() / a.groups) + "_";
  cuda::Variant variant = mma_variant(a, name + cuda::type_name(a.x.dtype), kGroupsMmaH);
  variant.launches.back().overlapped = device.smVersion >= 90;
  out.add(std::move(variant));
}

void add_conv_thin(const ConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!out.allows({"conv_thin*"}, thin_reason(a, device))) return;
  std::string name = "conv_thin";
  name += std::to_string(a.x.channels());
  const std::string type = cuda::type_name(a.x.dtype);
  cuda::Variant tall = mma_variant(a, name + "_" + type, kGroupsMmaH), flat = mma_variant(a, name + "_h4_" + type, kGroupsMmaH / 2);
  // Small maps have too few tiles for all multiprocessors.
  if (static_cast<int64_t>(tall.launches.back().grid[0]) < device.numSms) std::swap(tall, flat);
  out.add(std::move(tall));
  out.add(std::move(flat));
}

}  // namespace vd
