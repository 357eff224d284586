#include "matmul_scaled.h"

#include <utility>

namespace vd::cuda {

using device::MatmulScales;
using device::PackKind;
using device::PackParams;
using device::ScaledMmaParams;

namespace {

struct MmaTile {
  const char* name;
  int tileM, tileN, threads;
};
constexpr MmaTile kTiles[] = {{"m128n128", 128, 128, 256}, {"m64n64", 64, 64, 128}};
constexpr MmaTile kPlainTile = {"plain", 64, 64, 256};

int64_t count_tiles(const device::MatmulMmaParams& p, const MmaTile& tile) {
  return ceil_div(p.columns, tile.tileN) * ceil_div(p.rows, tile.tileM);
}

Variant variant_of(const ScaledMmaProblem& problem, const std::string& symbol, const MmaTile& tile) {
  Variant variant = problem.base;
  Launch launch;
  launch.symbol = variant.name = symbol;
  launch.block = static_cast<uint32_t>(tile.threads);
  launch.grid[0] = static_cast<uint32_t>(count_tiles(problem.params, tile));
  launch.set_params(ScaledMmaParams{problem.params, problem.scales.scales});
  launch.relocations.push_back({offsetof(ScaledMmaParams, matmul) + offsetof(device::MatmulMmaParams, weights), problem.weights});
  launch.relocations.push_back({offsetof(ScaledMmaParams, scales) + offsetof(MatmulScales, weight), problem.scales.weight});
  variant.launches.push_back(std::move(launch));
  return variant;
}

/** Why tensor cores cannot multiply a problem through mma.sync. */
Reason mma_reason(const ScaledMmaProblem& p, const DeviceInfo& device) {
  return first_of({if_so(p.type == DType::f8e4m3 && device.smVersion < 89, {"needs compute capability 8.9"}), p.unchunked,
                   if_so(p.params.gated && p.params.columns % 16 != 0,
                         {"has gated activations for multiples of 8 columns, y has #", {p.params.columns / 2}})});
}

}  // namespace

ScaleSources make_scales(Variant& base, int64_t numTokens, const Tensor& xScale, const Tensor& weightScale, const char* packSymbol) {
  ScaleSources sources{};
  MatmulScales& s = sources.scales;
  s.x = xScale.as<const float>();
  int64_t stride = xScale.pitch;
  for (int i = 2; i >= 0; --i) {
    s.xStride[i] = xScale.dim(i) == 1 ? 0 : stride;
    stride *= xScale.dim(i);
  }
  s.pixelStride = xScale.pixels() == 1 ? 0 : xScale.pixels() == numTokens ? xScale.pitch : -1;
  s.xBlockStride = xScale.channels() > 1;
  s.weightStride = weightScale.dim(0) > 1;
  const bool weightBlocks = weightScale.channels() > 1;
  sources.blocked = s.xBlockStride != 0 || weightBlocks;
  sources.weight = Address::of(weightScale.data);
  if (!weightBlocks) return sources;
  // Neighbouring rows' scales of a block beside each other: [rows, blocks] -> [blocks, rows].
  PackParams p{};
  p.kind = PackKind::conv;
  p.rows = 1;
  p.channels = p.paddedChannels = static_cast<int32_t>(weightScale.dim(0));
  p.taps = static_cast<int32_t>(weightScale.channels());
  p.count = weightScale.count();
  p.targetType = static_cast<int32_t>(DType::f32);
  s.weightBlockStride = weightScale.dim(0);
  sources.weight = Address::packed(add_pack(base, weightScale, packSymbol, p));
  return sources;
}

Address pack_codes(Variant& base, const Tensor& weight, int64_t paddedChannels, int taps, const char* packSymbol) {
  if (taps == 1 && paddedChannels == weight.dim(1) && aligned16(weight.data)) return Address::of(weight.data);
  PackParams p{};
  p.kind = PackKind::conv;
  p.rows = static_cast<int32_t>(weight.dim(0));
  p.channels = static_cast<int32_t>(weight.dim(1));
  p.paddedChannels = static_cast<int32_t>(paddedChannels);
  p.taps = taps;
  p.count = weight.dim(0) * taps * paddedChannels;
  p.targetType = static_cast<int32_t>(weight.dtype);
  return Address::packed(add_pack(base, weight, packSymbol, p));
}

DType tail_type(const EpilogueOperands& tail) {
  for (const Tensor* tensor : {&tail.y, &tail.residual, &tail.residual2, &tail.frameBias})
    if (tensor->present() && is_16_bit(tensor->dtype)) return tensor->dtype;
  return DType::f16;
}

void add_scaled_mma(const ScaledMmaProblem& p, const DeviceInfo& device, Candidates& out) {
  const std::string type = type_name(p.type), prefix = p.op + "_mma_" + type + "_";
  if (out.allows({prefix, "*"}, mma_reason(p, device))) {
    const bool small = count_tiles(p.params, kTiles[0]) < device.numSms || p.params.columns <= 64;
    for (const MmaTile& tile : {kTiles[small], kTiles[!small]})
      out.add(variant_of(p, prefix + tile.name + (p.scales.blocked ? "_blocks" : ""), tile));
  }
  out.add(variant_of(p, p.op + "_plain_" + type, kPlainTile));
}

}  // namespace vd::cuda
