#include "../../native/generated/op_planners.h"

#include <algorithm>

#include "../../device/plan.h"
#include "attention_params.h"
#include "attention_tf32.h"

namespace vd {

namespace {

using namespace device;

constexpr float kLog2e = 1.4426950408889634f;

bool is_plain_request(const AttentionArgs& a) { return !a.mask.present() && !a.cuQ.present() && !a.causal; }

/** A map over [sequences, rows, channels] whose box is 64 channels of `boxRows` rows. */
cuda::TensorMapRequest sequence_map(uint32_t offset, const Tensor& t, int64_t rows, int64_t sequences, uint32_t boxRows) {
  cuda::TensorMapRequest map;
  map.paramOffset = offset;
  map.base = cuda::Address::of(t.data);
  map.dtype = t.dtype;
  map.rank = 4;
  map.dims[0] = t.channels();
  map.dims[1] = rows;
  map.dims[2] = sequences;
  map.strideBytes[0] = t.pitch * 2;
  map.strideBytes[1] = map.strideBytes[2] = static_cast<uint64_t>(rows) * t.pitch * 2;
  map.box[0] = 64;
  map.box[1] = boxRows;
  return map;
}

AttentionSm90Params hopper_params(const AttentionArgs& a, int blockRows) {
  AttentionSm90Params p{};
  p.y = a.y.data;
  p.lse = a.lse.as<float>();
  p.yPitch = a.y.pitch;
  p.heads = static_cast<int32_t>(a.heads);
  p.seqQ = static_cast<int32_t>(a.q.dim(2));
  p.seqK = static_cast<int32_t>(a.k.dim(2));
  p.frames = static_cast<int32_t>(a.q.dim(1));
  p.keyFrames = static_cast<int32_t>(a.k.dim(1));
  p.numQTiles = static_cast<int32_t>(cuda::ceil_div(p.seqQ, blockRows));
  p.numTiles = static_cast<int32_t>(p.numQTiles * a.heads * a.q.dim(0) * a.q.dim(1));
  p.scale = a.scale * kLog2e;
  return p;
}

bool fits_sm90(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  return device.hasWgmma && a.axis == AttentionAxis::space && is_plain_request(a) && copyable(a.q) && copyable(a.k) && copyable(a.v) &&
         copyable(a.y) && a.y.dtype == a.q.dtype && a.k.dim(2) > 0 && a.scale > 0;
}

cuda::Plan hopper_d64(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  const AttentionSm90Params p = hopper_params(a, 192);
  cuda::Launch launch;
  launch.symbol = a.q.dtype == DType::f16 ? "attention_sm90_f16_d64" : "attention_sm90_bf16_d64";
  launch.block = 512;
  launch.grid[0] = std::min<uint32_t>(p.numTiles, device.numSms);
  launch.sharedBytes = 192 * 128 + 9 * 128 * 128 + 1024;  // Q; four of K and of V, and one of ones
  launch.set_params(p);
  const int64_t sequences = a.q.dim(0) * a.q.dim(1), keySequences = a.k.dim(0) * a.k.dim(1);
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, q), a.q, p.seqQ, sequences, 192));
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, k), a.k, p.seqK, keySequences, 128));
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, v), a.v, p.seqK, keySequences, 128));
  return {"sm90_d64", 0, {}, {std::move(launch)}};
}

/** Blocks of 64 rows in pairs; a block beyond the last row helps its neighbour load. */
cuda::Plan hopper_d512(const AttentionArgs& a) {
  AttentionSm90Params p = hopper_params(a, 64);
  p.numQTiles += p.numQTiles % 2;
  cuda::Launch launch;
  launch.symbol = a.q.dtype == DType::f16 ? "attention_sm90_f16_d512" : "attention_sm90_bf16_d512";
  launch.block = 384;
  launch.cluster = 2;
  const int64_t sequences = a.q.dim(0) * a.q.dim(1), keySequences = a.k.dim(0) * a.k.dim(1);
  launch.grid[0] = static_cast<uint32_t>(p.numQTiles * a.heads * sequences);
  launch.sharedBytes = 3 * 64 * 1024 + 4 * 8192 + 1024;  // Q, K, V; two of P; partial scores
  launch.set_params(p);
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, q), a.q, p.seqQ, sequences, 64));
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, k), a.k, p.seqK, keySequences, 32));
  launch.maps.push_back(sequence_map(offsetof(AttentionSm90Params, v), a.v, p.seqK, keySequences, 16));
  return {"sm90_d512", 0, {}, {std::move(launch)}};
}

/** How sequences lie in a tensor: over space, rows are tokens; over time, rows are frames and every token a sequence. */
AttentionView view_of(const Tensor& t, bool time) {
  const int64_t frame = t.dim(2) * t.pitch, batch = t.dim(1) * frame;
  if (time) return {t.data, batch, t.pitch, frame};
  return {t.data, batch, t.dim(1) > 1 ? frame : 0, t.pitch};
}

AttentionMmaParams portable_params(const AttentionArgs& a) {
  AttentionMmaParams p{};
  const bool time = a.axis == AttentionAxis::time;
  p.q = view_of(a.q, time);
  p.k = view_of(a.k, time);
  p.v = view_of(a.v, time);
  p.y = view_of(a.y, time);
  p.heads = static_cast<int32_t>(a.heads);
  p.dim = static_cast<int32_t>(a.q.channels() / a.heads);
  p.frames = static_cast<int32_t>(time ? a.q.dim(2) : a.q.dim(1));
  p.seqQ = static_cast<int32_t>(time ? a.q.dim(1) : a.q.dim(2));
  p.seqK = static_cast<int32_t>(time ? a.k.dim(1) : a.k.dim(2));
  p.numHeadsFrames = static_cast<int32_t>(a.q.dim(0) * p.frames * p.heads);
  p.scale = a.scale;
  p.causal = a.causal;
  p.mask = a.mask.data;
  p.maskType = static_cast<int32_t>(a.mask.dtype);
  if (a.mask.present()) {
    p.maskRow = a.mask.pitch;
    p.maskHead = a.mask.dim(1) > 1 ? a.mask.dim(2) * a.mask.pitch : 0;
    p.maskBatch = a.mask.dim(0) > 1 ? a.mask.dim(1) * a.mask.dim(2) * a.mask.pitch : 0;
  }
  p.cuQ = a.cuQ.as<int32_t>();
  p.cuK = a.cuK.as<int32_t>();
  p.numSequences = a.cuQ.present() ? static_cast<int32_t>(a.cuQ.channels() - 1) : 0;
  p.lse = a.lse.as<float>();
  // [B,F,heads,S]: over time the frame of a row is a row, the token a sequence.
  const int64_t pitch = a.lse.pitch;
  p.lseHead = pitch;
  p.lseRow = time ? a.heads * pitch : 1;
  p.lseFrame = time ? 1 : a.heads * pitch;
  p.lseBatch = a.q.dim(1) * a.heads * pitch;
  const int chunk = 16 / bytes_of(a.q.dtype);
  const auto aligned = [&](const Tensor& t) { return cuda::aligned16(t.data) && t.pitch % chunk == 0; };
  p.vector = aligned(a.q) && aligned(a.k) && aligned(a.v) && aligned(a.y) && p.dim % chunk == 0;
  return p;
}

cuda::Plan portable_plan(AttentionMmaParams p, const std::string& symbol, int blockRows, uint32_t threads, uint32_t sharedBytes, uint32_t parts) {
  p.numQTiles = static_cast<int32_t>(cuda::ceil_div(p.seqQ, blockRows)) + (p.numSequences ? p.numSequences + 2 : 0);
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = threads;
  launch.grid[0] = static_cast<uint32_t>(static_cast<int64_t>(p.numQTiles) * p.numHeadsFrames);
  launch.grid[1] = parts;
  launch.sharedBytes = sharedBytes;
  launch.set_params(p);
  return {symbol, 0, {}, {std::move(launch)}};
}

struct FlashShape {
  int dim, keys, warps;
};
constexpr FlashShape kFlashShapes[] = {{32, 64, 4}, {64, 64, 4}, {80, 64, 4}, {128, 64, 4}, {160, 32, 4}, {256, 32, 2}, {512, 32, 2}};

void add_flash(std::vector<cuda::Plan>& plans, const AttentionMmaParams& p, const std::string& type, const cuda::DeviceInfo& device) {
  for (const FlashShape& s : kFlashShapes) {
    if (p.dim > s.dim) continue;
    const int rows = 16 * s.warps, out = std::min(s.dim, 256);
    const uint32_t bytes = static_cast<uint32_t>((rows + s.keys) * (s.dim * 2 + 16) + s.keys * (out * 2 + 16));
    if (bytes > device.sharedBytesPerBlock) continue;
    plans.push_back(portable_plan(p, "attention_mma_" + type + "_d" + std::to_string(s.dim), rows, 32 * s.warps, bytes, s.dim / out));
    return;
  }
}

/** float32 on tensor cores, by the smallest kernel that the head fits. */
void add_tf32(std::vector<cuda::Plan>& plans, const AttentionMmaParams& p, const cuda::DeviceInfo& device) {
  for (const int dim : kTf32AttentionDims) {
    if (p.dim > dim) continue;
    const Tf32AttentionShape s = tf32_attention_shape(dim);
    if (s.sharedBytes + kTf32AttentionStaticBytes > device.sharedBytesPerBlock) return;
    plans.push_back(portable_plan(p, "attention_tf32x3_d" + std::to_string(dim), s.rows, kTf32AttentionThreads, s.sharedBytes, 1));
    return;
  }
}

}  // namespace

std::vector<cuda::Plan> plan_attention_cuda(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  std::vector<cuda::Plan> plans;
  const AttentionMmaParams p = portable_params(a);
  const DType dtype = a.q.dtype;
  const std::string type = dtype == DType::f16 ? "f16" : dtype == DType::bf16 ? "bf16" : "f32";
  const bool tensor = dtype == DType::f16 || (dtype == DType::bf16 && device.smVersion >= 80);
  // The Hopper kernels write packed lse rows.
  const bool hopper = fits_sm90(a, device) && (!a.lse.present() || a.lse.pitch == a.lse.channels());
  if (hopper && p.dim == 64) plans.push_back(hopper_d64(a, device));
  if (hopper && p.dim == 512) plans.push_back(hopper_d512(a));
  const bool shortTime = a.axis == AttentionAxis::time && p.dim == 64 && p.seqK <= 32 && p.seqK > 0 && p.vector && is_plain_request(a) && !p.lse;
  if (tensor && shortTime) {
    cuda::Launch launch;
    launch.symbol = "attention_time_" + type + (p.seqK <= 16 ? "_f16" : "_f32");
    launch.block = 128;
    launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.numHeadsFrames, 4));
    launch.set_params(p);
    plans.push_back({launch.symbol, 0, {}, {launch}});
  }
  if (tensor) add_flash(plans, p, type, device);
  if (p.dim <= 512) {
    const std::string dim = dtype == DType::f32 && p.dim <= 64 ? "_d64" : "_d512";
    plans.push_back(portable_plan(p, "attention_plain_" + type + dim, 32, 256, 0, 1));
  }
  if (dtype == DType::f32 && device.smVersion >= 80) {
    add_tf32(plans, p, device);
    // Sequences that fit one tile of 32 by 32 would leave most of a tile of 64 by 128 empty.
    const bool tiny = p.seqQ <= 32 && p.seqK <= 32;
    if (!tiny) std::reverse(plans.begin(), plans.end());
  }
  return plans;
}

}  // namespace vd
