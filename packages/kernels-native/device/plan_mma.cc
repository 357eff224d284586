#include <algorithm>

#include "matmul_mma.h"
#include "plan.h"

namespace vd::device {

namespace {

struct MmaTile {
  const char* name;
  int tileM, tileN, threads;
};
constexpr MmaTile kMmaTiles[] = {{"m128n128", 128, 128, 256}, {"m64n64", 64, 64, 128}};
constexpr MmaTile kPlainTile = {"plain", 64, 64, 256};

const char* type_name(DType type) {
  return type == DType::f16 ? "f16" : type == DType::bf16 ? "bf16" : "f32";
}

cuda::Plan make_plan(const cuda::Plan& base, const char* op, const MatmulMmaParams& p, const cuda::Address& weights, DType type,
                     const MmaTile& tile, bool vector) {
  cuda::Plan plan = base;
  cuda::Launch launch;
  const bool plain = tile.threads == kPlainTile.threads && tile.tileM == kPlainTile.tileM;
  launch.symbol = std::string(op) + "_mma_" + type_name(type) + "_" + tile.name + (plain || vector ? "" : "_scalar");
  if (plain) launch.symbol = std::string(op) + "_plain_" + type_name(type);
  plan.variant = launch.symbol;
  launch.block = tile.threads;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.columns, tile.tileN) * cuda::ceil_div(p.rows, tile.tileM));
  launch.set_params(p);
  launch.relocations.push_back({offsetof(MatmulMmaParams, weights), weights});
  plan.launches.push_back(std::move(launch));
  return plan;
}

/** Few channels to few: a pixel a thread. */
cuda::Plan make_few_plan(const cuda::Plan& base, const MatmulMmaParams& p, const cuda::Address& weights, DType type) {
  cuda::Plan plan = base;
  cuda::Launch launch;
  launch.symbol = std::string("conv_few_") + type_name(type);
  plan.variant = launch.symbol;
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(cuda::ceil_div(p.rows, 256), 1 << 16));
  launch.set_params(p);
  launch.relocations.push_back({offsetof(MatmulMmaParams, weights), weights});
  plan.launches.push_back(std::move(launch));
  return plan;
}

std::vector<cuda::Plan> make_plans(const cuda::Plan& base, const char* op, const MatmulMmaParams& p, const cuda::Address& weights,
                                   DType type, bool vector, const cuda::DeviceInfo& device) {
  std::vector<cuda::Plan> plans;
  const bool tensor = type == DType::f16 || (type == DType::bf16 && device.smVersion >= 80);
  if (tensor && (!p.geglu || p.columns % 16 == 0)) {
    const int64_t blocks = cuda::ceil_div(p.rows, 128) * cuda::ceil_div(p.columns, 128);
    const bool small = blocks < device.numSms || p.columns <= 64;
    plans.push_back(make_plan(base, op, p, weights, type, kMmaTiles[small], vector));
    plans.push_back(make_plan(base, op, p, weights, type, kMmaTiles[!small], vector));
  }
  plans.push_back(make_plan(base, op, p, weights, type, kPlainTile, vector));
  return plans;
}

}  // namespace

std::vector<cuda::Plan> plan_linear_mma(const LinearArgs& a, const Epilogue& epilogue, const cuda::DeviceInfo& device) {
  MatmulMmaParams p{};
  p.x = a.x.data;
  p.x2 = a.x2.data;
  p.epilogue = epilogue;
  p.pitch = a.x.pitch;
  p.pitch2 = a.x2.pitch;
  for (int i = 0; i < 3; ++i) p.source[i] = p.out[i] = p.kernel[i] = p.stride[i] = 1;
  p.rows = static_cast<int32_t>(a.x.pixels());
  p.source[2] = p.out[2] = p.rows;
  p.columns = static_cast<int32_t>(a.weight.dim(0));
  p.channels = static_cast<int32_t>(a.x.channels());
  p.depth = p.tapChannels = static_cast<int32_t>(a.weight.channels());
  p.geglu = a.act == Activation::geglu;
  cuda::Plan base;
  const cuda::Address weights = weight_matrix(base, a.weight, a.x.dtype, "linear_pack");
  const bool second = !a.x2.present() || (copyable(a.x2) && a.x2.channels() % 8 == 0);
  const bool vector = copyable(a.x) && p.channels % 8 == 0 && second;
  return make_plans(base, "linear", p, weights, a.x.dtype, vector, device);
}

std::vector<cuda::Plan> plan_conv_mma(const ConvArgs& a, const Epilogue& epilogue, const cuda::DeviceInfo& device) {
  MatmulMmaParams p{};
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
  p.upsample = a.upsample;
  p.rows = static_cast<int32_t>(a.y.pixels());
  p.columns = static_cast<int32_t>(a.y.channels());
  p.channels = static_cast<int32_t>(a.x.channels());
  p.tapChannels = static_cast<int32_t>(cuda::round_up(p.channels, 8));
  p.depth = taps * p.tapChannels;
  cuda::Plan base;
  PackParams pack{};
  pack.kind = PackKind::conv;
  pack.rows = p.columns;
  pack.channels = p.channels;
  pack.paddedChannels = p.tapChannels;
  pack.taps = taps;
  pack.count = static_cast<int64_t>(p.columns) * p.depth;
  pack.targetType = static_cast<int32_t>(a.x.dtype);
  const cuda::Address weights = cuda::Address::packed(add_pack(base, a.weight, "conv_pack", pack));
  std::vector<cuda::Plan> plans = make_plans(base, "conv", p, weights, a.x.dtype, copyable(a.x) && p.channels % 8 == 0, device);
  if (p.columns <= kFewColumns && p.depth <= kFewDepth && p.channels <= 8)
    plans.insert(plans.begin(), make_few_plan(base, p, weights, a.x.dtype));
  return plans;
}

}  // namespace vd::device
