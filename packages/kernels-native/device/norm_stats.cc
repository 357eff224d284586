#include "norm_stats.h"

#include <algorithm>

namespace vd::device {
namespace {

/** Of a frame: enough for all multiprocessors at the models' frame counts. */
constexpr int64_t kLeastChunks = 64;
constexpr int64_t kMostChunkPixels = 2048;

}  // namespace

bool norm_vector(const Tensor& x, const Tensor& x2) {
  const auto wide = [](const Tensor& t) {
    return !t.present() || (cuda::aligned16(t.data) && t.pitch % 8 == 0 && t.channels() % 8 == 0);
  };
  return wide(x) && wide(x2) && x.channels() + (x2.present() ? x2.channels() : 0) <= 8192;
}

NormSource norm_source(const Tensor& x, const Tensor& x2) {
  NormSource s{};
  s.x = x.data;
  s.x2 = x2.data;
  s.pitch = x.pitch;
  s.pitch2 = x2.pitch;
  s.channels = static_cast<int32_t>(x.channels());
  s.channels2 = x2.present() ? static_cast<int32_t>(x2.channels()) : 0;
  s.type = static_cast<int32_t>(x.dtype);
  s.pixels = static_cast<int32_t>(x.dim(2) * x.dim(3));
  s.frames = static_cast<int32_t>(x.dim(0) * x.dim(1));
  return s;
}

NormShape norm_shape(const NormSource& s, bool vector) {
  NormShape shape;
  const int vectors = (s.channels + s.channels2) / (vector ? 8 : 1);
  shape.lanes = std::max(1, std::min(320 / std::max(vectors, 1), s.pixels));
  shape.threads = static_cast<int>(cuda::round_up(std::min(std::max(vectors * shape.lanes, 32), 320), 32));
  // Chunks follow from the frame alone, so that statistics have the same bits however many frames are normed at a time;
  // at least eight pixels a lane.
  const int64_t chunk = std::max<int64_t>(std::min<int64_t>(cuda::ceil_div(s.pixels, kLeastChunks), kMostChunkPixels), 8 * shape.lanes);
  shape.chunkPixels = static_cast<int>(std::min<int64_t>(chunk, s.pixels));
  shape.numChunks = static_cast<int>(cuda::ceil_div(s.pixels, shape.chunkPixels));
  return shape;
}

size_t add_partial_launch(cuda::Plan& plan, const char* prefix, const NormSource& source, bool vector, size_t offset,
                          NormFinishParams& finish) {
  const NormShape shape = norm_shape(source, vector);
  NormPartialParams partial{};
  partial.source = source;
  partial.groups = finish.groups;
  partial.groupChannels = (source.channels + source.channels2) / finish.groups;
  partial.chunkPixels = shape.chunkPixels;
  partial.numChunks = shape.numChunks;
  partial.lanes = shape.lanes;
  finish.numChunks = shape.numChunks;
  finish.chunkPixels = shape.chunkPixels;
  const char* type = source.type == int(DType::f16) ? "f16" : source.type == int(DType::bf16) ? "bf16" : "f32";
  cuda::Launch launch;
  launch.symbol = std::string(prefix) + "_partial_" + type + (vector ? "" : "_scalar");
  launch.grid[0] = static_cast<uint32_t>(shape.numChunks);
  launch.grid[1] = static_cast<uint32_t>(source.frames);
  launch.block = static_cast<uint32_t>(shape.threads);
  launch.sharedBytes = static_cast<uint32_t>((shape.lanes + 1) * (source.channels + source.channels2) * 8);
  launch.set_params(partial);
  launch.relocations.push_back({offsetof(NormPartialParams, partial), cuda::Address::workspace(offset)});
  plan.launches.push_back(std::move(launch));
  return static_cast<size_t>(source.frames) * finish.groups * shape.numChunks * 8;
}

cuda::Launch finish_launch(const char* prefix, const NormSource& source, const NormFinishParams& finish) {
  NormFinishParams p = finish;
  p.pixels = source.pixels;
  p.groupChannels = (source.channels + source.channels2) / p.groups;
  cuda::Launch launch;
  launch.symbol = std::string(prefix) + "_finish";
  launch.grid[0] = static_cast<uint32_t>(source.frames / p.framesPerRow * p.groups);
  launch.block = 128;
  launch.set_params(p);
  return launch;
}

}  // namespace vd::device
