#include "token_norm.h"

#include <algorithm>

#include "../../../device/token_norm.h"

namespace vd::cuda {

using namespace device;

namespace {

/** Rows are counted in 32 bits, and blocks in 31. */
constexpr int64_t kMostRows = (int64_t{1} << 31) - 1;

/** Why rows cannot be kept in registers as vectors of eight. */
Reason vector_reason(const TokenNormOperands& o) {
  const auto vector = [](const Tensor& t, const char* name) { return access_reason(t, name, 8, false); };
  return first_of({access_reason(o.x, "x", 8, true), vector(o.y, "y"), vector(o.weight, "weight"), vector(o.bias, "bias"),
                   vector(o.scale, "scale"), vector(o.shift, "shift")});
}

TokenModulation modulation(const Tensor& t) {
  if (!t.present()) return {};
  const auto stride = [&](int dim, int64_t elements) { return t.dim(dim) > 1 ? elements : 0; };
  const int64_t frame = t.pitch * t.dim(2), clip = frame * t.dim(1);
  return {t.data, stride(0, clip), stride(1, frame), stride(2, t.pitch), static_cast<int32_t>(t.dtype)};
}

TokenNormParams make_params(const TokenNormOperands& o) {
  TokenNormParams p{};
  p.x = o.x.data;
  p.weight = o.weight.data;
  p.bias = o.bias.data;
  p.y = o.y.data;
  p.yScale = o.yScale.as<const float>();
  p.scales = o.scales.as<float>();
  p.scalesPitch = o.scales.pitch;
  p.isInt8 = o.y.dtype == DType::i8;
  p.scale = modulation(o.scale);
  p.shift = modulation(o.shift);
  p.pitch = o.x.pitch;
  p.yPitch = o.y.pitch;
  p.rows = static_cast<uint32_t>(o.x.pixels());
  p.frames = static_cast<uint32_t>(o.x.dim(1));
  p.tokens = static_cast<uint32_t>(o.x.dim(2));
  p.channels = static_cast<int32_t>(o.x.channels());
  p.weightType = static_cast<int32_t>(o.weight.dtype);
  p.biasType = static_cast<int32_t>(o.bias.dtype);
  p.eps = o.eps;
  return p;
}

/** The narrowest shape for so many channels that blocks for many rows have, or null. */
const TokenNormShape* many_shape(int64_t channels) {
  for (const TokenNormShape& shape : kTokenNormShapes)
    if (channels <= shape.lanes * shape.chunks * 8) return shape.lanes <= 32 && shape.chunks <= kTokenNormManyChunks ? &shape : nullptr;
  return nullptr;
}

int64_t many_blocks(const DeviceInfo& device) { return int64_t{kTokenNormManyBlocks} * device.numSms; }

}  // namespace

uint32_t token_norm_threads(int64_t rows, int lanes, const DeviceInfo& device) {
  uint32_t threads = kTokenNormThreads;
  if (lanes > 32) return threads;
  while (threads > 64 && rows * lanes / threads < 2 * device.numSms) threads /= 2;
  return threads;
}

void add_token_norm(const TokenNormOperands& o, const std::string& symbol, const DeviceInfo& device, Candidates& out) {
  const std::string prefix = symbol + "_" + type_name(o.x.dtype) + "_";
  const int64_t rows = o.x.pixels(), channels = o.x.channels();
  if (!out.allows({prefix, "*"}, if_so(rows > kMostRows, {"is for # rows at most, x has #", {kMostRows, rows}}))) return;
  const Reason unaligned = vector_reason(o);
  const TokenNormParams params = make_params(o);
  const auto add = [&](const std::string& name, int lanes) {
    Launch launch;
    launch.symbol = name;
    launch.block = token_norm_threads(rows, lanes, device);
    launch.overlapped = device.smVersion >= 90;
    launch.grid[0] = static_cast<uint32_t>(ceil_div(rows * lanes, launch.block));
    launch.set_params(params);
    out.add({name, 0, {}, {std::move(launch)}});
  };
  bool found = false;
  for (const TokenNormShape& shape : kTokenNormShapes) {
    const std::string name = prefix + "l" + std::to_string(shape.lanes) + "c" + std::to_string(shape.chunks);
    const int64_t most = shape.lanes * shape.chunks * 8;
    const Reason reason = first_of({unaligned, if_so(channels > most, {"holds # channels, a row has #", {most, channels}}),
                                    if_so(found, {"has more room than a row needs"})});
    if (!out.allows({name}, reason)) continue;
    add(name, shape.lanes);
    found = true;
  }
  add(prefix + "block", kTokenNormThreads);
}

bool token_norm_has_many(const TokenNormOperands& o, const DeviceInfo& device) {
  constexpr int64_t kTurns = 4;  // rows of a thread
  const TokenNormShape* shape = many_shape(o.x.channels());
  return shape != nullptr && o.x.pixels() * shape->lanes >= kTurns * many_blocks(device) * kTokenNormThreads;
}

void add_many_token_norm(const TokenNormOperands& o, const std::string& symbol, const DeviceInfo& device, Candidates& out) {
  const std::string prefix = symbol + "_" + type_name(o.x.dtype) + "_many_";
  const int64_t rows = o.x.pixels(), channels = o.x.channels();
  const TokenNormShape* shape = many_shape(channels);
  const Reason reason = first_of({vector_reason(o), if_so(bytes_of(o.x.dtype) != 2, {"is for 16-bit numbers", {}, "x"}),
                                  if_so(o.scale.present() || o.shift.present(), {"has nothing behind weight and bias"}),
                                  if_so(shape == nullptr, {"has no room for # channels", {channels}}),
                                  if_so(rows > kMostRows, {"is for # rows at most, x has #", {kMostRows, rows}})});
  if (!out.allows({prefix, "*"}, reason)) return;
  Launch launch;
  launch.symbol = prefix + "l" + std::to_string(shape->lanes) + "c" + std::to_string(shape->chunks);
  launch.block = kTokenNormThreads;
  launch.overlapped = device.smVersion >= 90;
  launch.grid[0] = static_cast<uint32_t>(std::min(many_blocks(device), ceil_div(rows * shape->lanes, kTokenNormThreads)));
  launch.set_params(make_params(o));
  const std::string name = launch.symbol;
  out.add({name, 0, {}, {std::move(launch)}});
}

}  // namespace vd::cuda
