#include "attention_q8.h"

#include <algorithm>
#include <string>

namespace vd::cuda {

using namespace device;

namespace {

constexpr float kLog2e = 1.4426950408889634f;
constexpr int64_t kHead = 64;

/** A map of bytes. box: channels or keys, and rows. */
TensorMapRequest codes_map(size_t offset, const AttentionCodes& codes, uint32_t width, uint32_t rows) {
  TensorMapRequest map;
  map.paramOffset = static_cast<uint32_t>(offset);
  map.base = codes.base;
  map.dtype = DType::u8;
  map.rank = 4;
  map.dims[0] = static_cast<uint64_t>(codes.channels);
  map.dims[1] = static_cast<uint64_t>(codes.rows);
  map.dims[2] = static_cast<uint64_t>(codes.frames);
  map.strideBytes[0] = static_cast<uint64_t>(codes.pitch);
  map.strideBytes[1] = map.strideBytes[2] = static_cast<uint64_t>(codes.rows * codes.pitch);
  map.strideBytes[2] *= map.dims[2];
  map.box[0] = width;
  map.box[1] = rows;
  map.swizzleBytes = static_cast<int>(width);
  return map;
}

}  // namespace

Reason attention_q8_sm90_reason(const Tensor& y, int64_t heads, float scale, const DeviceInfo& device) {
  const int64_t dim = y.channels() / heads;
  return first_of({wgmma_reason(device), if_so(dim != kHead, {"is for heads of #, the row has heads of #", {kHead, dim}}),
                   if_so(y.dtype == DType::f32, {"is of float32", {}, "y"}), access_reason(y, "y", 8, true),
                   if_so(!(scale > 0), {"needs a positive scale"})});
}

AttentionQ8Params attention_q8_params(const Tensor& q, const Tensor& k, const Tensor& y, int64_t heads, float scale) {
  AttentionQ8Params p{};
  p.y = y.data;
  p.yPitch = y.pitch;
  p.xType = static_cast<int32_t>(y.dtype);
  p.heads = static_cast<int32_t>(heads);
  p.dim = static_cast<int32_t>(q.channels() / heads);
  p.seqQ = static_cast<int32_t>(q.dim(2));
  p.seqK = static_cast<int32_t>(k.dim(2));
  p.frames = static_cast<int32_t>(q.dim(1));
  p.keyFrames = static_cast<int32_t>(k.dim(1));
  p.numTiles = static_cast<int32_t>(q.dim(0) * q.dim(1));
  p.scale = scale * kLog2e;
  return p;
}

uint64_t attention_values_bytes(const Tensor& v) {
  return static_cast<uint64_t>(v.dim(0) * v.dim(1) * v.channels()) * round_up(v.dim(2), kQ8Keys);
}

Launch attention_q8_sm90_launch(const AttentionQ8Params& params, const AttentionCodes& q, const AttentionCodes& k, Address values,
                                DType yType, const DeviceInfo& device) {
  AttentionQ8Params p = params;
  const int queries = q8_queries(p.isInt8);
  p.numQTiles = static_cast<int32_t>(ceil_div(p.seqQ, queries));
  p.numTiles = static_cast<int32_t>(p.numQTiles * p.heads * q.frames);
  Launch launch;
  launch.symbol = std::string("attention_q8_sm90_") + (p.isInt8 ? "i8_" : "f8e4m3_") + type_name(yType);
  launch.block = static_cast<uint32_t>(queries / 64 + 1) * 128;
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms);
  launch.sharedBytes = 2 * queries * 64 + 4 * (kQ8Keys * 64 + 72 * kQ8Keys) + 1024;  // two of Q; four of K and of V with ones
  launch.set_params(p);
  const auto padded = static_cast<int64_t>(round_up(p.seqK, kQ8Keys));
  const AttentionCodes v{values, 1, k.frames * k.channels, padded, padded};
  launch.maps.push_back(codes_map(offsetof(AttentionQ8Params, q), q, kHead, static_cast<uint32_t>(queries)));
  launch.maps.push_back(codes_map(offsetof(AttentionQ8Params, k), k, kHead, kQ8Keys));
  launch.maps.push_back(codes_map(offsetof(AttentionQ8Params, v), v, kQ8Keys, kHead));
  return launch;
}

Launch attention_q8_plain_launch(const AttentionQ8Params& p, int64_t queries) {
  Launch launch;
  launch.symbol = "attention_q8_plain";
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(ceil_div(queries * p.heads, 8));
  launch.grid[1] = static_cast<uint32_t>(ceil_div(p.dim, 128));
  launch.set_params(p);
  return launch;
}

}  // namespace vd::cuda
