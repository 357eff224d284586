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

/** The kernels' infix of the tensor cores that multiply `type` exactly, or none: weights of 16 bits are tf32 numbers. */
std::string tensor_core(DType type, DType weightType, const cuda::DeviceInfo& device) {
  if (type == DType::f16) return "mma_f16";
  if (device.smVersion < 80) return "";
  if (type == DType::bf16) return "mma_bf16";
  return weightType == DType::f16 || weightType == DType::bf16 ? "tf32x2" : "tf32x3";
}

/** How the kernels see a row: weights as they are packed, channels moved in chunks of 16 bytes or one by one. */
struct MmaOperands {
  cuda::Address weights;
  DType type, weightType;  // weightType: of the source of the weights
  bool vector;
};

cuda::Plan make_plan(const cuda::Plan& base, const std::string& symbol, const MatmulMmaParams& p, const cuda::Address& weights,
                     const MmaTile& tile) {
  cuda::Plan plan = base;
  cuda::Launch launch;
  launch.symbol = plan.variant = symbol;
  launch.block = tile.threads;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.columns, tile.tileN) * cuda::ceil_div(p.rows, tile.tileM));
  launch.set_params(p);
  launch.relocations.push_back({offsetof(MatmulMmaParams, weights), weights});
  plan.launches.push_back(std::move(launch));
  return plan;
}

/** A kernel for few output channels. */
cuda::Plan make_few_plan(const cuda::Plan& base, const std::string& symbol, const MatmulMmaParams& p, const cuda::Address& weights,
                         int threads, int64_t blocks) {
  cuda::Plan plan = base;
  cuda::Launch launch;
  launch.symbol = plan.variant = symbol;
  launch.block = static_cast<uint32_t>(threads);
  launch.grid[0] = static_cast<uint32_t>(blocks);
  launch.set_params(p);
  launch.relocations.push_back({offsetof(MatmulMmaParams, weights), weights});
  plan.launches.push_back(std::move(launch));
  return plan;
}

/** True when conv_narrow can do the row: a 3x3 filter with a step of one, whole chunks of 32 channels, 16-bit tensor cores, and
 *  frames whose elements 31 bits can count. */
bool fits_narrow(const ConvArgs& a, const MatmulMmaParams& p, const cuda::DeviceInfo& device) {
  const bool type = a.x.dtype == DType::f16 || (a.x.dtype == DType::bf16 && device.smVersion >= 80);
  const bool filter = p.kernel[0] == 1 && p.kernel[1] == 3 && p.kernel[2] == 3 && p.padding[0] == 0;
  const bool step = p.stride[0] == 1 && p.stride[1] == 1 && p.stride[2] == 1 && !p.upsample;
  const int64_t elements = static_cast<int64_t>(p.source[1]) * p.source[2] * p.pitch;
  return type && filter && step && p.columns <= kNarrowColumns && p.channels % 32 == 0 && copyable(a.x) && elements < INT32_MAX;
}

std::vector<cuda::Plan> make_plans(const cuda::Plan& base, const std::string& op, const MatmulMmaParams& p,
                                   const MmaOperands& operands, const cuda::DeviceInfo& device) {
  std::vector<cuda::Plan> plans;
  const std::string core = tensor_core(operands.type, operands.weightType, device);
  if (!core.empty() && (!p.geglu || p.columns % 16 == 0)) {
    const int64_t blocks = cuda::ceil_div(p.rows, 128) * cuda::ceil_div(p.columns, 128);
    const bool small = blocks < device.numSms || p.columns <= 64;
    for (const MmaTile& tile : {kMmaTiles[small], kMmaTiles[!small]}) {
      const std::string symbol = op + "_" + core + "_" + tile.name + (operands.vector ? "" : "_scalar");
      plans.push_back(make_plan(base, symbol, p, operands.weights, tile));
    }
  }
  plans.push_back(make_plan(base, op + "_plain_" + type_name(operands.type), p, operands.weights, kPlainTile));
  return plans;
}

/** True when 16-byte accesses reach every chunk of channels. */
bool chunked(const Tensor& t) {
  const int64_t chunk = 16 / bytes_of(t.dtype);
  return cuda::aligned16(t.data) && t.pitch % chunk == 0 && t.channels() % chunk == 0;
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
  const bool vector = chunked(a.x) && (!a.x2.present() || chunked(a.x2));
  return make_plans(base, "linear", p, {weights, a.x.dtype, a.weight.dtype, vector}, device);
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
  p.tapChannels = static_cast<int32_t>(cuda::round_up(p.channels, 16 / bytes_of(a.x.dtype)));
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
  std::vector<cuda::Plan> plans = make_plans(base, "conv", p, {weights, a.x.dtype, a.weight.dtype, chunked(a.x)}, device);
  const std::string type = type_name(a.x.dtype);
  if (p.columns <= kFewColumns && p.depth <= kFewDepth && p.channels <= 8) {
    const int64_t blocks = std::min<int64_t>(cuda::ceil_div(p.rows, 256), 1 << 16);
    plans.insert(plans.begin(), make_few_plan(base, "conv_few_" + type, p, weights, 256, blocks));
  } else if (fits_narrow(a, p, device)) {
    const int64_t tiles = cuda::ceil_div(p.out[1], kNarrowTileH) * cuda::ceil_div(p.out[2], kNarrowTileW);
    const int64_t frames = a.y.dim(0) * a.y.dim(1);
    plans.insert(plans.begin(), make_few_plan(base, "conv_narrow_" + type, p, weights, kNarrowThreads, tiles * frames));
  }
  return plans;
}

}  // namespace vd::device
