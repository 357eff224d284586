#include <algorithm>
#include <numeric>

#include "../../native/generated/op_planners.h"

#include "batch_norm_params.h"

namespace vd {

namespace {

constexpr int64_t kThreads = 256;
/** Blocks to a multiprocessor: more than run at a time, so that it never waits for one. */
constexpr int64_t kBlocksPerSm = 16;

/** Why channels cannot be taken eight at a time. */
cuda::Reason vector_reason(const BatchNormArgs& a) {
  const auto vector = [](const Tensor& t, const char* name) { return cuda::access_reason(t, name, 8, false); };
  return cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::access_reason(a.y, "y", 8, false), vector(a.mean, "mean"),
                         vector(a.variance, "variance"), vector(a.weight, "weight"), vector(a.bias, "bias")});
}

/** Blocks whose threads are a multiple of `runs` and cover all items, or are enough for the device. */
uint32_t blocks_for(int64_t pixels, int64_t runs, int numSms) {
  const int64_t step = runs / std::gcd(runs, kThreads);
  const int64_t wanted = std::min(cuda::ceil_div(pixels * runs, kThreads), kBlocksPerSm * numSms);
  return static_cast<uint32_t>(cuda::ceil_div(wanted, step) * step);
}

}  // namespace

cuda::Candidates batch_norm_cuda_variants(const BatchNormArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  device::BatchNormParams p{};
  p.x = a.x.data;
  p.mean = a.mean.data;
  p.variance = a.variance.data;
  p.weight = a.weight.data;
  p.bias = a.bias.data;
  p.y = a.y.data;
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.act = static_cast<int32_t>(a.act);
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.meanType = static_cast<int32_t>(a.mean.dtype);
  p.varianceType = static_cast<int32_t>(a.variance.dtype);
  p.weightType = static_cast<int32_t>(a.weight.dtype);
  p.biasType = static_cast<int32_t>(a.bias.dtype);
  p.yType = static_cast<int32_t>(a.y.dtype);
  p.eps = a.eps;
  cuda::Candidates out(options);
  const bool vector = out.allows({"batch_norm_vector"}, vector_reason(a));
  if (vector) out.reject({"batch_norm_scalar"}, cuda::kScalarReason);
  cuda::Launch launch;
  launch.symbol = vector ? "batch_norm_vector" : "batch_norm_scalar";
  launch.block = kThreads;
  launch.grid[0] = blocks_for(p.pixels, p.channels / (vector ? 8 : 1), device.numSms);
  launch.set_params(p);
  out.add({launch.symbol, 0, {}, {launch}});
  return out;
}

}  // namespace vd
