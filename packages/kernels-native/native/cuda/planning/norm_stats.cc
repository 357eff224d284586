#include "norm_stats.h"

#include <algorithm>

namespace vd::cuda {

using namespace device;

namespace {

/** Of a large frame, and of a small one: enough for all multiprocessors at the models' frame counts. */
constexpr int64_t kChunks = 64, kLeastChunks = 4;
constexpr int64_t kMostChunkPixels = 2048;
/** Of a lane in a chunk, at least: many, since a block merges its sums once, and few where there would be few blocks. Measured on an H100:
 *  docs/kernels/group_norm.md. */
constexpr int64_t kLanePixels = 32, kFewLanePixels = 8;
/** Of the form that moves eight channels at a time. */
constexpr int64_t kMostVectorChannels = 8192;

}  // namespace

Reason norm_vector_reason(const Tensor& x, const Tensor& x2) {
  const int64_t channels = x.channels() + (x2.present() ? x2.channels() : 0);
  return first_of({access_reason(x, "x", 8, true), access_reason(x2, "x2", 8, true),
                   if_so(channels > kMostVectorChannels, {"is for at most # channels, there are #", {kMostVectorChannels, channels}})});
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

namespace {

/** Pixels of a chunk: a multiple of eight for each lane, or all of the frame where it has fewer. */
int chunk_pixels(int64_t pixels, int64_t lanes, int64_t lanePixels) {
  const int64_t least = std::min(lanePixels * lanes, ceil_div(pixels, kLeastChunks));
  const int64_t wanted = std::min(std::max(ceil_div(pixels, kChunks), least), kMostChunkPixels);
  const int64_t step = 8 * lanes, rounded = std::max<int64_t>(1, (wanted + step / 2) / step) * step;
  return static_cast<int>(std::min(rounded, pixels));
}

}  // namespace

NormShape norm_shape(const NormSource& s, bool vector, const DeviceInfo& device, bool invariant) {
  NormShape shape;
  const int vectors = (s.channels + s.channels2) / (vector ? 8 : 1);
  shape.lanes = std::max(1, std::min(320 / std::max(vectors, 1), s.pixels));
  shape.threads = static_cast<int>(round_up(std::min(std::max(vectors * shape.lanes, 32), 320), 32));
  shape.chunkPixels = chunk_pixels(s.pixels, shape.lanes, kLanePixels);
  const int64_t blocks = s.frames * ceil_div(s.pixels, shape.chunkPixels);
  if (!invariant && blocks < 2 * device.numSms) shape.chunkPixels = chunk_pixels(s.pixels, shape.lanes, kFewLanePixels);
  shape.numChunks = static_cast<int>(ceil_div(s.pixels, shape.chunkPixels));
  return shape;
}

size_t add_partial_launch(Variant& variant, const char* prefix, const NormSource& source, const NormShape& shape, bool vector,
                          size_t offset, NormFinishParams& finish, const DeviceInfo& device) {
  NormPartialParams partial{};
  partial.source = source;
  partial.groups = finish.groups;
  partial.groupChannels = (source.channels + source.channels2) / finish.groups;
  partial.chunkPixels = shape.chunkPixels;
  partial.numChunks = shape.numChunks;
  partial.lanes = shape.lanes;
  finish.numChunks = shape.numChunks;
  finish.chunkPixels = shape.chunkPixels;
  Launch launch;
  launch.overlapped = device.smVersion >= 90;
  launch.symbol = std::string(prefix) + "_partial_" + type_name(static_cast<DType>(source.type)) + (vector ? "" : "_scalar");
  launch.grid[0] = static_cast<uint32_t>(shape.numChunks);
  launch.grid[1] = static_cast<uint32_t>(source.frames);
  launch.block = static_cast<uint32_t>(shape.threads);
  launch.sharedBytes = static_cast<uint32_t>((shape.lanes * 8 + 4) * (source.channels + source.channels2));
  launch.set_params(partial);
  launch.relocations.push_back({offsetof(NormPartialParams, partial), Address::workspace(offset)});
  variant.launches.push_back(std::move(launch));
  return static_cast<size_t>(source.frames) * finish.groups * shape.numChunks * 8;
}

Launch finish_launch(const char* prefix, const NormSource& source, const NormFinishParams& finish, const DeviceInfo& device) {
  NormFinishParams p = finish;
  p.pixels = source.pixels;
  p.groupChannels = (source.channels + source.channels2) / p.groups;
  Launch launch;
  launch.symbol = std::string(prefix) + "_finish";
  launch.overlapped = device.smVersion >= 90;
  launch.grid[0] = static_cast<uint32_t>(source.frames / p.framesPerRow * p.groups);
  launch.block = 128;
  launch.set_params(p);
  return launch;
}

}  // namespace vd::cuda
