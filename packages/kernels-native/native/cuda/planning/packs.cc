#include "packs.h"

#include <algorithm>

namespace vd::cuda {

using device::PackKind;
using device::PackParams;

int add_pack(Variant& variant, const Tensor& source, const char* symbol, PackParams params) {
  params.source = source.data;
  params.sourceType = static_cast<int32_t>(source.dtype);
  Pack pack;
  pack.source = source.data;
  pack.kind = static_cast<int>(params.kind);
  pack.targetType = params.targetType;
  pack.bytes = params.count * bytes_of(static_cast<DType>(params.targetType));
  pack.constant = source.constant;
  Launch launch;
  launch.symbol = symbol;
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(ceil_div(params.count, 256), 4096));
  launch.set_params(params);
  const int index = static_cast<int>(variant.packs.size());
  launch.relocations.push_back({offsetof(PackParams, target), Address::packed(index)});
  pack.launches.push_back(std::move(launch));
  variant.packs.push_back(std::move(pack));
  return index;
}

BiasSource float_bias(Variant& variant, const Tensor& bias, const char* symbol) {
  if (!bias.present()) return {};
  if (bias.dtype == DType::f32) return {true, Address::of(bias.data)};
  PackParams p{};
  p.kind = PackKind::convert;
  p.count = bias.channels();
  p.rows = 1;
  p.channels = p.paddedChannels = static_cast<int32_t>(p.count);
  p.taps = 1;
  p.targetType = static_cast<int32_t>(DType::f32);
  return {true, Address::packed(add_pack(variant, bias, symbol, p))};
}

Address weight_matrix(Variant& variant, const Tensor& weight, DType dtype, const char* symbol) {
  if (weight.dtype == dtype && weight.pitch == weight.channels() && aligned16(weight.data)) return Address::of(weight.data);
  PackParams p{};
  p.kind = PackKind::convert;
  p.count = weight.count();
  p.rows = static_cast<int32_t>(weight.dim(0));
  p.channels = p.paddedChannels = static_cast<int32_t>(weight.channels());
  p.taps = 1;
  p.targetType = static_cast<int32_t>(dtype);
  return Address::packed(add_pack(variant, weight, symbol, p));
}

}  // namespace vd::cuda
