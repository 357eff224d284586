#include <iterator>

#include "../../native/generated/op_planners.h"

#include "../../native/cuda/planning/token_norm.h"
#include "layer_norm_params.h"

namespace vd {

namespace {

struct RowShape {
  int lanes, chunks;
};
constexpr RowShape kRowShapes[] = {{8, 5}, {16, 5}, {32, 5}, {32, 8}};

/** Rows up to which weights and biases are in registers before a row is read: more rows hide their loads behind each other. */
constexpr int64_t kMostReadyRows = 8192;

/** Why rows cannot be kept in registers as vectors of eight. */
cuda::Reason vector_reason(const LayerNormArgs& a) {
  const auto aligned = [](const Tensor& t, const char* name) {
    return cuda::if_so(!cuda::aligned16(t.data), {"is not 16-byte aligned", {}, name});
  };
  return cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.y, "y", 8, false), aligned(a.weight, "weight"),
                         aligned(a.bias, "bias")});
}

/** Why a row goes to the kernels that know every operand and rows of any length. */
cuda::Reason general_reason(const LayerNormArgs& a) {
  const int64_t most = kRowShapes[std::size(kRowShapes) - 1].lanes * kRowShapes[std::size(kRowShapes) - 1].chunks * 8;
  return cuda::first_of({cuda::if_so(!a.weight.present() || !a.bias.present(), {"has weight and bias"}),
                         cuda::if_so(a.scale.present() || a.shift.present(), {"has no scale and no shift"}),
                         cuda::if_so(a.x.channels() > most, {"keeps # channels in registers, x has #", {most, a.x.channels()}})});
}

/** Why weights and biases do not stand in registers before rows are read. */
cuda::Reason ready_reason(const LayerNormArgs& a, const RowShape& shape) {
  const DType type = a.x.dtype, weights = a.weight.dtype;
  return cuda::first_of({cuda::if_so(!cuda::is_16_bit(type), {"is not of a 16-bit float type", {}, "x"}),
                         cuda::if_so(weights != a.bias.dtype, {"has another type than weight", {}, "bias"}),
                         cuda::if_so(weights != type && weights != DType::f32, {"is neither of x's type nor float32", {}, "weight"}),
                         cuda::if_so(shape.chunks > 5, {"holds # channels", {kRowShapes[2].lanes * kRowShapes[2].chunks * 8}}),
                         cuda::if_so(a.x.pixels() > kMostReadyRows, {"is for # rows at most, x has #", {kMostReadyRows, a.x.pixels()}})});
}

}  // namespace

cuda::Candidates layer_norm_cuda_variants(const LayerNormArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (!out.allows({"layer_norm_", cuda::type_name(a.x.dtype), "_*"}, general_reason(a))) {
    const Tensor absent;
    cuda::add_token_norm({a.x, a.weight, a.bias, a.scale, a.shift, absent, a.y, absent, a.eps}, "layer_norm_modulated", device, out);
    return out;
  }
  vd::device::LayerNormParams p{};
  p.x = a.x.data;
  p.weight = a.weight.data;
  p.bias = a.bias.data;
  p.y = a.y.data;
  p.rows = a.x.pixels();
  p.pitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.weightType = static_cast<int32_t>(a.weight.dtype);
  p.biasType = static_cast<int32_t>(a.bias.dtype);
  p.eps = a.eps;
  p.constantWeights = a.weight.constant && a.bias.constant;
  const cuda::Reason unaligned = vector_reason(a);
  const std::string prefix = "layer_norm_" + cuda::type_name(a.x.dtype) + "_";
  cuda::Launch launch;
  launch.overlapped = device.smVersion >= 90;
  launch.set_params(p);
  bool found = false;
  for (const RowShape& shape : kRowShapes) {
    std::string rows = "l";
    rows += std::to_string(shape.lanes) + "c" + std::to_string(shape.chunks);
    const std::string name = prefix + rows;
    const int64_t most = shape.lanes * shape.chunks * 8;
    if (!out.allows({name},
                    cuda::first_of({unaligned, cuda::if_so(p.channels > most, {"holds # channels, a row has #", {most, p.channels}}),
                                    cuda::if_so(found, {"has more room than a row needs"})})))
      continue;
    launch.block = cuda::token_norm_threads(p.rows, shape.lanes, device);
    launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.rows * shape.lanes, launch.block));
    const std::string ready = prefix + cuda::type_name(a.weight.dtype) + "_ready_" + rows;
    for (const std::string& symbol : {ready, name}) {
      if (symbol == ready && !out.allows({ready}, ready_reason(a, shape))) continue;
      launch.symbol = symbol;
      out.add({symbol, 0, {}, {launch}});
    }
    found = true;
  }
  launch.symbol = prefix + "block";
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(p.rows);
  out.add({launch.symbol, 0, {}, {launch}});
  return out;
}

}  // namespace vd
