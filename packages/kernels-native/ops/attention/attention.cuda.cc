#include "../../native/generated/op_planners.h"

#include <algorithm>

#include "../../native/cuda/planning/matmul_sm90.h"
#include "attention_params.h"
#include "attention_tf32.h"

namespace vd {

namespace {

using namespace device;

/** What the kernels for plain requests do not do, if the row asks for it. */
cuda::Reason request_reason(const AttentionArgs& a) {
  return cuda::first_of({cuda::if_so(a.mask.present(), {"has no mask"}), cuda::if_so(a.cuQ.present(), {"has no packed sequences"}),
                         cuda::if_so(a.causal, {"has no causal mask"})});
}

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

AttentionSm90Params sm90_params(const AttentionArgs& a, int blockRows) {
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

/** Why the Hopper kernel for heads of `dim` channels cannot do the row. */
cuda::Reason sm90_reason(const AttentionArgs& a, int64_t dim, const cuda::DeviceInfo& device) {
  const int64_t given = a.q.channels() / a.heads;
  return cuda::first_of({cuda::wgmma_reason(device), cuda::if_so(given != dim, {"is for heads of #, the row has heads of #", {dim, given}}),
                         cuda::if_so(a.axis != AttentionAxis::space, {"is for attention over space"}), request_reason(a),
                         cuda::copy_engine_reason(a.q, "q"), cuda::copy_engine_reason(a.k, "k"), cuda::copy_engine_reason(a.v, "v"),
                         cuda::copy_engine_reason(a.y, "y"), cuda::if_so(a.y.dtype != a.q.dtype, {"has another element type than q", {}, "y"}),
                         cuda::if_so(a.k.dim(2) == 0, {"has no keys", {}, "k"}), cuda::if_so(!(a.scale > 0), {"needs a positive scale"}),
                         cuda::if_so(a.lse.present() && a.lse.pitch != a.lse.channels(), {"has gaps between its rows", {}, "lse"})});
}

cuda::Variant sm90_d64(const AttentionArgs& a, const cuda::DeviceInfo& device) {
  const AttentionSm90Params p = sm90_params(a, 192);
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
cuda::Variant sm90_d512(const AttentionArgs& a) {
  AttentionSm90Params p = sm90_params(a, 64);
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

cuda::Variant portable_variant(AttentionMmaParams p, const std::string& symbol, int blockRows, uint32_t threads, uint32_t sharedBytes, uint32_t parts) {
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

/** Why the tensor-core kernels for 16-bit types cannot multiply a row of `type`. */
cuda::Reason mma_reason(DType type, const cuda::DeviceInfo& device) {
  return cuda::first_of({cuda::if_so(type == DType::f32, {"is for 16-bit types"}), cuda::if_so(type == DType::bf16, cuda::sm80_reason(device))});
}

/** Why the kernel that keeps short sequences over frames in registers cannot do the row. */
cuda::Reason time_reason(const AttentionArgs& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device) {
  return cuda::first_of({mma_reason(a.q.dtype, device), cuda::if_so(a.axis != AttentionAxis::time, {"is for attention over time"}),
                         cuda::if_so(p.dim != 64, {"is for heads of #, the row has heads of #", {64, p.dim}}),
                         cuda::if_so(p.seqK == 0 || p.seqK > 32, {"is for 1 to # keys, the row has #", {32, p.seqK}}),
                         cuda::if_so(!p.vector, {"is for rows that can be moved 16 bytes at a time"}), request_reason(a),
                         cuda::if_so(p.lse != nullptr, {"has no log-sum-exp"})});
}

void add_time(const AttentionArgs& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const std::string prefix = "attention_time_" + cuda::type_name(a.q.dtype);
  if (!out.allows({prefix, "_*"}, time_reason(a, p, device))) return;
  cuda::Launch launch;
  launch.symbol = prefix + (p.seqK <= 16 ? "_f16" : "_f32");
  launch.block = 128;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.numHeadsFrames, 4));
  launch.set_params(p);
  out.add({launch.symbol, 0, {}, {launch}});
}

/** Why a kernel for heads of up to `dim` channels is not the one: too small, another one taken, or too little shared memory. */
cuda::Reason head_reason(int64_t dim, int64_t given, bool isTaken, int64_t sharedBytes, const cuda::DeviceInfo& device) {
  const auto there = static_cast<int64_t>(device.sharedBytesPerBlock);
  return cuda::first_of({cuda::if_so(given > dim, {"is for heads of at most #, the row has heads of #", {dim, given}}),
                         cuda::if_so(isTaken, {"is for larger heads than #", {given}}),
                         cuda::if_so(sharedBytes > there, {"needs # bytes of shared memory, a block has #", {sharedBytes, there}})});
}

/** 16-bit types on tensor cores, by the smallest kernel that the head fits. */
void add_flash(const AttentionMmaParams& p, DType dtype, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const std::string prefix = "attention_mma_" + cuda::type_name(dtype);
  if (!out.allows({prefix, "_*"}, mma_reason(dtype, device))) return;
  bool isTaken = false;
  for (const FlashShape& s : kFlashShapes) {
    const int rows = 16 * s.warps, width = std::min(s.dim, 256);
    const uint32_t bytes = static_cast<uint32_t>((rows + s.keys) * (s.dim * 2 + 16) + s.keys * (width * 2 + 16));
    const std::string name = prefix + "_d" + std::to_string(s.dim);
    if (!out.allows({name}, head_reason(s.dim, p.dim, isTaken, bytes, device))) continue;
    out.add(portable_variant(p, name, rows, 32 * s.warps, bytes, s.dim / width));
    isTaken = true;
  }
}

/** float32 on tensor cores, by the smallest kernel that the head fits. */
void add_tf32(const AttentionMmaParams& p, DType dtype, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!out.allows({"attention_tf32x3_*"}, cuda::first_of({cuda::if_so(dtype != DType::f32, {"is for f32"}), cuda::sm80_reason(device)}))) return;
  bool isTaken = false;
  for (const int dim : kTf32AttentionDims) {
    const Tf32AttentionShape s = tf32_attention_shape(dim);
    const std::string name = "attention_tf32x3_d" + std::to_string(dim);
    const bool allowed = out.allows({name}, head_reason(dim, p.dim, isTaken, s.sharedBytes + kTf32AttentionStaticBytes, device));
    if (allowed) out.add(portable_variant(p, name, s.rows, kTf32AttentionThreads, s.sharedBytes, 1));
    isTaken = isTaken || p.dim <= dim;  // larger kernels are not tried
  }
}

void add_plain(const AttentionMmaParams& p, DType dtype, cuda::Candidates& out) {
  const std::string prefix = "attention_plain_" + cuda::type_name(dtype);
  for (const int dim : {64, 512}) {
    const bool wrongType = dim == 64 && dtype != DType::f32, isTaken = dim == 512 && dtype == DType::f32 && p.dim <= 64;
    const cuda::Reason reason = cuda::first_of({cuda::if_so(wrongType, {"is for f32"}), cuda::if_so(isTaken, {"is for larger heads than #", {p.dim}}),
                                                cuda::if_so(p.dim > dim, {"is for heads of at most #, the row has heads of #", {dim, p.dim}})});
    const std::string name = prefix + "_d" + std::to_string(dim);
    if (out.allows({name}, reason)) out.add(portable_variant(p, name, 32, 256, 0, 1));
  }
}

}  // namespace

cuda::Candidates attention_cuda_variants(const AttentionArgs& a, const cuda::DeviceInfo& device, bool explain) {
  cuda::Candidates out(explain);
  const AttentionMmaParams p = portable_params(a);
  const DType dtype = a.q.dtype;
  if (out.allows({"sm90_d64"}, sm90_reason(a, 64, device))) out.add(sm90_d64(a, device));
  if (out.allows({"sm90_d512"}, sm90_reason(a, 512, device))) out.add(sm90_d512(a));
  add_time(a, p, device, out);
  add_flash(p, dtype, device, out);
  add_plain(p, dtype, out);
  add_tf32(p, dtype, device, out);
  // Sequences that fit one tile of 32 by 32 would leave most of a tile of 64 by 128 empty.
  const bool tiny = p.seqQ <= 32 && p.seqK <= 32;
  if (dtype == DType::f32 && !tiny) std::reverse(out.variants.begin(), out.variants.end());
  return out;
}

}  // namespace vd
