#include "../../native/generated/op_planners.h"

#include <algorithm>

#include "quantize_params.h"

namespace vd {

namespace {

using namespace device;

/** Why elements cannot be taken eight at a time: 16 bytes or more of x, 8 of y. */
cuda::Reason vector_reason(const QuantizeArgs& a) {
  const bool codes = (reinterpret_cast<uint64_t>(a.y.data) & 7) != 0 || a.y.pitch % 8 != 0;
  return cuda::first_of({cuda::access_reason(a.x, "x", 8, true), cuda::if_so(codes, {"cannot be stored eight codes at a time", {}, "y"})});
}

QuantizeParams make_params(const QuantizeArgs& a) {
  const bool whole = a.per == ScalesPer::tensor;
  QuantizeParams p{};
  p.x = a.x.data;
  p.scale = a.scale.as<const float>();
  p.scales = a.scales.as<float>();
  p.y = a.y.as<uint8_t>();
  p.pixels = a.x.pixels();
  p.xPitch = a.x.pitch;
  p.yPitch = a.y.pitch;
  p.scalePitch = whole ? 0 : a.scale.pitch;
  p.scalesPitch = whole ? 0 : a.scales.pitch;
  p.channels = static_cast<int32_t>(a.x.channels());
  p.width = a.per == ScalesPer::block ? kQuantizeBlock : p.channels;
  p.groups = static_cast<int32_t>(cuda::ceil_div(p.channels, p.width));
  p.xType = static_cast<int32_t>(a.x.dtype);
  p.isInt8 = a.y.dtype == DType::i8;
  return p;
}

cuda::Launch make_launch(const std::string& symbol, int64_t threads, int64_t mostBlocks, const QuantizeParams& p) {
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(std::clamp<int64_t>(cuda::ceil_div(threads, 256), 1, mostBlocks));
  launch.set_params(p);
  return launch;
}

/** How a cluster holds a tensor: its blocks, and bytes of each. */
struct HeldShape {
  int64_t numBlocks = 1, bytes = 0;
};

HeldShape held_shape(const QuantizeArgs& a, const QuantizeParams& p) {
  constexpr int64_t kBlockRuns = 1024;  // fewer take no less time
  const int64_t runs = p.pixels * (p.channels / 8);
  HeldShape shape;
  while (shape.numBlocks < kMostHeldBlocks && runs > shape.numBlocks * kBlockRuns) shape.numBlocks *= 2;
  shape.bytes = cuda::ceil_div(cuda::ceil_div(runs, shape.numBlocks), kHeldThreads) * kHeldThreads * 8 * bytes_of(a.x.dtype);
  return shape;
}

/** Why a cluster cannot hold the tensor, or need not. */
cuda::Reason held_reason(const QuantizeArgs& a, const HeldShape& shape, bool vector, const cuda::DeviceInfo& device) {
  constexpr int64_t kStaticBytes = 8 << 10, kMostBlockBytes = 104 << 10;
  const auto there = std::min<int64_t>(static_cast<int64_t>(device.sharedBytesPerBlock) - kStaticBytes, kMostBlockBytes);
  return cuda::first_of({cuda::if_so(device.smVersion < 90, {"needs compute capability 9.0"}),
                         cuda::if_so(a.scale.present() || a.per != ScalesPer::tensor, {"finds one scale for the tensor"}),
                         cuda::if_so(!vector, {"moves 16 bytes at a time"}),
                         cuda::if_so(shape.bytes > there, {"needs # bytes of shared memory, a block has #", {shape.bytes, there}})});
}

/** Adds the one launch of a tensor that a cluster holds. The largest magnitude is the same in any order, and so are the codes. */
void add_held(const QuantizeArgs& a, const QuantizeParams& p, bool vector, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const HeldShape shape = held_shape(a, p);
  if (!out.allows({"quantize_held_*"}, held_reason(a, shape, vector, device))) return;
  cuda::Variant variant;
  variant.name = "quantize_held_" + cuda::type_name(a.x.dtype);
  cuda::Launch launch;
  launch.symbol = variant.name;
  launch.grid[0] = launch.cluster = static_cast<uint32_t>(shape.numBlocks);
  launch.block = kHeldThreads;
  launch.sharedBytes = static_cast<uint32_t>(shape.bytes);
  launch.overlapped = true;
  launch.set_params(p);
  variant.launches.push_back(std::move(launch));
  out.add(std::move(variant));
}

}  // namespace

cuda::Candidates quantize_cuda_variants(const QuantizeArgs& a, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options) {
  constexpr int64_t kNoLimit = int64_t{1} << 30;
  cuda::Candidates out(options);
  QuantizeParams p = make_params(a);
  const bool vector = out.allows({"quantize_*_vector"}, vector_reason(a));
  if (vector) out.reject({"quantize_*_scalar"}, cuda::kScalarReason);
  add_held(a, p, vector, device, out);
  const std::string suffix = vector ? "_vector" : "_scalar";
  const int64_t runs = p.pixels * (p.channels / (vector ? 8 : 1));
  // Blocks that find a scale from all maxima do so once for much work, and threads with much work wait for several loads at once.
  const int64_t blocks = int64_t{8} * device.numSms;
  cuda::Variant variant;
  if (a.scale.present()) {
    variant.launches.push_back(make_launch("quantize_known" + suffix, runs, p.groups == 1 && p.scalePitch == 0 ? blocks : kNoLimit, p));
  } else if (a.per == ScalesPer::tensor) {
    p.numMaxima = static_cast<int32_t>(std::clamp<int64_t>(cuda::ceil_div(runs, 256), 1, std::min<int64_t>(blocks, kMostMaxima)));
    variant.workspaceBytes = cuda::round_up(p.numMaxima * sizeof(float), 256);
    for (const char* kernel : {"quantize_maxima", "quantize_known"}) {
      const bool first = variant.launches.empty();
      variant.launches.push_back(make_launch(kernel + suffix, runs, first ? p.numMaxima : blocks, p));
      variant.launches.back().relocations.push_back({offsetof(QuantizeParams, maxima), cuda::Address::workspace(0)});
    }
  } else {
    const bool rows = a.per == ScalesPer::row;
    const int64_t lanes = rows || !vector ? 32 : 16;
    variant.launches.push_back(
        make_launch((rows ? "quantize_rows" : "quantize_blocks") + suffix, p.pixels * p.groups * lanes, kNoLimit, p));
  }
  for (cuda::Launch& launch : variant.launches) launch.overlapped = device.smVersion >= 90;
  variant.name = variant.launches.back().symbol;
  out.add(std::move(variant));
  return out;
}

}  // namespace vd
