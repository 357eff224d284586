#include "../../native/generated/op_planners.h"

#include "layer_norm_params.h"

namespace vd {

namespace {

struct RowShape {
  int lanes, chunks;
};
constexpr RowShape kRowShapes[] = {{8, 5}, {16, 5}, {32, 5}, {32, 8}};

}  // namespace

std::vector<cuda::Plan> plan_layer_norm_cuda(const LayerNormArgs& a, const cuda::DeviceInfo&) {
  device::LayerNormParams p{};
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
  const bool aligned = cuda::aligned16(p.x) && cuda::aligned16(p.y) && cuda::aligned16(p.weight) && cuda::aligned16(p.bias);
  const bool vector = aligned && p.channels % 8 == 0 && p.pitch % 8 == 0 && p.yPitch % 8 == 0;
  const std::string type = a.x.dtype == DType::f16 ? "f16" : a.x.dtype == DType::bf16 ? "bf16" : "f32";
  std::vector<cuda::Plan> plans;
  cuda::Launch launch;
  launch.block = 256;
  launch.set_params(p);
  for (const RowShape& shape : kRowShapes) {
    if (!vector || p.channels > shape.lanes * shape.chunks * 8) continue;
    launch.symbol = "layer_norm_" + type + "_l" + std::to_string(shape.lanes) + "c" + std::to_string(shape.chunks);
    launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.rows, 256 / shape.lanes));
    plans.push_back({launch.symbol, 0, {}, {launch}});
    break;
  }
  launch.symbol = "layer_norm_" + type + "_block";
  launch.grid[0] = static_cast<uint32_t>(p.rows);
  plans.push_back({launch.symbol, 0, {}, {launch}});
  return plans;
}

}  // namespace vd
