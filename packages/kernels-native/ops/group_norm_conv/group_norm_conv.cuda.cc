#include <algorithm>

#include "../../native/cuda/planning/channel_moments.h"
#include "../../native/cuda/planning/conv_problem.h"
#include "../../native/cuda/planning/epilogue.h"
#include "../../native/cuda/planning/normed_conv.h"
#include "group_norm_conv_narrow.h"

namespace vd {

namespace {

constexpr const char* kPack = "conv_pack";

/** The tile that alone finds moments where a plan is batch-invariant, by the filters alone. */
const char* invariant_tile(const GroupNormConvArgs& a) {
  if (a.weight.dims[2] == 3) return "sm90_walk_m128n128";
  return a.y.channels() % 256 == 0 ? "sm90_normed_m128n256" : "sm90_normed_m256n128";
}

/** Why no kernel normalises the row's tiles in shared memory. */
cuda::Reason normed_reason(const GroupNormConvArgs& a, const ConvArgs& conv, const cuda::DeviceInfo& device) {
  return cuda::first_of({cuda::conv_sm90_reason(conv, device), cuda::norm_activation_reason(a.normAct)});
}

/** Adds the kernels that normalise their tiles in shared memory. */
void add_normed(const GroupNormConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const ConvArgs conv = as_conv(a, a.x);
  if (!out.allows({cuda::kMatmulSm90Family}, normed_reason(a, conv, device))) return;
  cuda::Variant base;
  const device::Epilogue epilogue = cuda::make_epilogue(cuda::epilogue_operands(conv), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  cuda::MatmulProblem problem = cuda::conv_sm90_problem(conv, base, epilogue);
  problem.symbolPrefix = a.x.dtype == DType::f16 ? "group_norm_conv_sm90_f16_" : "group_norm_conv_sm90_bf16_";
  problem.norm = cuda::normed_source(a, base, kPack);
  if (a.weight.dims[2] == 3) {
    problem.scales.x = a.stats.as<float>();
    problem.scales.weightStride = 1;
    problem.weightScales = problem.norm->weight;
  }
  cuda::add_matmul_sm90(problem, base, device, out);
  for (cuda::Variant& variant : out.variants) variant.launches.back().overlapped = true;
  cuda::add_channel_moments({"conv", a.y, a.moments, invariant_tile(a)}, device, out);
}

/** Why the kernel for few filters cannot do the row. */
cuda::Reason narrow_reason(const GroupNormConvArgs& a, const cuda::DeviceInfo& device) {
  const int64_t columns = a.y.channels(), channels = a.x.channels();
  const int64_t elements = a.x.dim(2) * a.x.dim(3) * a.x.pitch;
  const int64_t needed = device::normed_few_shared_bytes(static_cast<int>(std::min<int64_t>(columns, device::kNormedFewColumns)),
                                                         static_cast<int>(std::min<int64_t>(channels, 1 << 16)));
  return cuda::first_of(
      {cuda::sm80_reason(device), cuda::copy_engine_reason(a.x, "x"),
       cuda::if_so(columns > device::kNormedFewColumns,
                   {"is for at most # output channels, there are #", {device::kNormedFewColumns, columns}}),
       cuda::if_so(a.weight.dims[2] != 1, {"is for filters of 1x3x3"}), cuda::if_so(a.moments.present(), {"finds no moments"}),
       cuda::norm_activation_reason(a.normAct),
       cuda::if_so(channels % 32 != 0, {"has # channels, which 32 does not divide", {channels}, "x"}),
       cuda::if_so(elements >= INT32_MAX, {"has # elements a frame, the most is #", {elements, INT32_MAX - 1}, "x"}),
       cuda::if_so(needed > static_cast<int64_t>(device.sharedBytesPerBlock),
                   {"needs # bytes of shared memory, a block has #", {needed, static_cast<int64_t>(device.sharedBytesPerBlock)}})});
}

/** Adds the kernel that multiplies pixels with the filters of all taps at once. */
void add_narrow(const GroupNormConvArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const std::string prefix = "group_norm_conv_narrow_" + cuda::type_name(a.x.dtype) + "_n";
  if (!out.allows({prefix, "*"}, narrow_reason(a, device))) return;
  cuda::Variant variant;
  const ConvArgs conv = as_conv(a, a.x);
  const cuda::NormedSource source = normed_source(a, variant, kPack);
  const auto columns = static_cast<int32_t>(a.y.channels()), channels = static_cast<int32_t>(a.x.channels());
  device::NormedFewParams p{};
  p.x = a.x.data;
  p.epilogue = cuda::make_epilogue(cuda::epilogue_operands(conv), a.y.dim(1), a.y.dim(2) * a.y.dim(3));
  p.norm = source.norm;
  p.pitch = static_cast<int32_t>(a.x.pitch);
  p.height = static_cast<int32_t>(a.x.dim(2));
  p.width = static_cast<int32_t>(a.x.dim(3));
  p.channels = channels;
  p.columns = columns;
  p.products = device::normed_few_products(columns);
  p.productPitch = device::normed_few_pitch(columns);
  p.filterPitch = device::normed_few_filter_bytes(channels);
  cuda::Launch launch;
  launch.symbol = variant.name = prefix + std::to_string(8 * device::normed_few_tiles(columns));
  launch.block = device::kNormedFewThreads;
  launch.overlapped = true;
  launch.sharedBytes = static_cast<uint32_t>(device::normed_few_shared_bytes(columns, channels));
  const int64_t tiles = cuda::ceil_div(p.height, device::kNormedFewH) * cuda::ceil_div(p.width, device::kNormedFewW);
  launch.grid[0] = static_cast<uint32_t>(tiles * a.x.dim(0) * a.x.dim(1));
  launch.set_params(p);
  constexpr uint32_t kNorm = offsetof(device::NormedFewParams, norm);
  launch.relocations.push_back(
      {offsetof(device::NormedFewParams, weights), cuda::pack_conv_filters(variant, conv, device::kNormedFewTaps, channels)});
  launch.relocations.push_back({kNorm + offsetof(device::MatmulSourceNorm, weight), source.weight});
  launch.relocations.push_back({kNorm + offsetof(device::MatmulSourceNorm, bias), source.bias});
  variant.launches.push_back(std::move(launch));
  out.add(std::move(variant));
}

}  // namespace

cuda::Candidates group_norm_conv_cuda_variants(const GroupNormConvArgs& a, const cuda::DeviceInfo& device,
                                               const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  add_narrow(a, device, out);
  // The others add up in other orders.
  if (out.variants.empty() || out.allows({"sm90_*"}, out.variance_reason())) add_normed(a, device, out);
  if (out.variants.empty() || out.allows({"apart_*"}, out.variance_reason())) cuda::add_norm_and_conv(a, "apart_", device, options, out);
  return out;
}

}  // namespace vd
