#include <algorithm>
#include <initializer_list>
#include <string>

#include "../../native/cuda/planning/attention_rows.h"
#include "attention_plans.h"
#include "attention_tf32.h"

namespace vd {

namespace {

using namespace device;

template <class Params>
cuda::Variant portable_variant(Params p, const std::string& symbol, int blockRows, uint32_t threads, uint32_t sharedBytes, uint32_t parts) {
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

/** Keys of a tile and warps of a block. */
struct FlashShape {
  int keys, warps;
};

/** Of the kernels for heads of up to `dim` channels, as in attention.cu and attention_local.cu. */
constexpr FlashShape flash_shape(int dim) { return dim <= 128 ? FlashShape{64, 4} : dim <= 160 ? FlashShape{32, 4} : FlashShape{32, 2}; }

/** Why the tensor-core kernels for 16-bit types cannot multiply a row of `type`. */
cuda::Reason mma_reason(DType type, const cuda::DeviceInfo& device) {
  return cuda::first_of(
      {cuda::if_so(type == DType::f32, {"is for 16-bit types"}), cuda::if_so(type == DType::bf16, cuda::sm80_reason(device))});
}

/** Why the kernel that keeps short sequences over frames in registers cannot do the row. */
cuda::Reason time_reason(const AttentionArgs& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device) {
  return cuda::first_of({mma_reason(a.q.dtype, device), cuda::if_so(a.axis != AttentionAxis::time, {"is for attention over time"}),
                         cuda::if_so(p.dim != 64, {"is for heads of #, the row has heads of #", {64, p.dim}}),
                         cuda::if_so(p.seqK == 0 || p.seqK > 32, {"is for 1 to # keys, the row has #", {32, p.seqK}}),
                         cuda::if_so(!p.vector, {"is for rows that can be moved 16 bytes at a time"}), attention_request_reason(a),
                         cuda::if_so(p.lse != nullptr, {"has no log-sum-exp"})});
}

void add_time(const AttentionArgs& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const std::string prefix = "attention_time_" + cuda::type_name(a.q.dtype);
  if (!out.allows({prefix, "_*"}, time_reason(a, p, device))) return;
  cuda::Launch launch;
  launch.symbol = prefix + (p.seqK <= 16 ? "_f16" : "_f32");
  launch.block = 128;
  launch.overlapped = device.smVersion >= 90;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(p.numHeadsFrames, 4));
  launch.set_params(p);
  out.add({launch.symbol, 0, {}, {launch}});
}

/** Why the kernel whose threads have all scores of a query cannot do the row. */
cuda::Reason few_reason(const AttentionArgs& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device) {
  return cuda::first_of({mma_reason(a.q.dtype, device), cuda::if_so(a.axis != AttentionAxis::time, {"is for attention over time"}),
                         cuda::if_so(p.seqK == 0 || p.seqK > kFewKeys, {"is for 1 to # keys, the row has #", {kFewKeys, p.seqK}}),
                         cuda::if_so(!p.vector, {"is for rows that can be moved 16 bytes at a time"}), attention_request_reason(a),
                         cuda::if_so(p.lse != nullptr, {"has no log-sum-exp"})});
}

void add_few(const AttentionArgs& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  constexpr int kThreads = 128;
  const std::string symbol = "attention_few_" + cuda::type_name(a.q.dtype);
  if (!out.allows({symbol}, few_reason(a, p, device))) return;
  cuda::Launch launch;
  launch.symbol = symbol;
  launch.block = kThreads;
  launch.overlapped = device.smVersion >= 90;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(static_cast<int64_t>(p.numHeadsFrames) * p.seqQ, kThreads));
  launch.set_params(p);
  out.add({symbol, 0, {}, {launch}});
}

/** Why a kernel for heads of up to `dim` channels is not the one: too small, another one taken, or too little shared memory. */
cuda::Reason head_reason(int64_t dim, int64_t given, bool isTaken, int64_t sharedBytes, const cuda::DeviceInfo& device) {
  const auto there = static_cast<int64_t>(device.sharedBytesPerBlock);
  return cuda::first_of({cuda::if_so(given > dim, {"is for heads of at most #, the row has heads of #", {dim, given}}),
                         cuda::if_so(isTaken, {"is for larger heads than #", {given}}),
                         cuda::if_so(sharedBytes > there, {"needs # bytes of shared memory, a block has #", {sharedBytes, there}})});
}

/** 16-bit types on tensor cores, by the smallest kernel that the head fits. */
template <class Params>
void add_flash(const Params& p, const std::string& prefix, std::initializer_list<int> dims, DType dtype, const cuda::DeviceInfo& device,
               cuda::Candidates& out) {
  if (!out.allows({prefix, "_*"}, mma_reason(dtype, device))) return;
  bool isTaken = false;
  for (const int dim : dims) {
    const FlashShape s = flash_shape(dim);
    const int rows = 16 * s.warps, width = std::min(dim, 256);
    const uint32_t bytes = static_cast<uint32_t>((rows + s.keys) * (dim * 2 + 16) + s.keys * (width * 2 + 16));
    const std::string name = prefix + "_d" + std::to_string(dim);
    if (!out.allows({name}, head_reason(dim, p.dim, isTaken, bytes, device))) continue;
    out.add(portable_variant(p, name, rows, 32 * s.warps, bytes, dim / width));
    isTaken = true;
  }
}

/** float32 on tensor cores, by the smallest kernel that the head fits. */
void add_tf32(const AttentionMmaParams& p, DType dtype, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  if (!out.allows({"attention_tf32x3_*"}, cuda::first_of({cuda::if_so(dtype != DType::f32, {"is for f32"}), cuda::sm80_reason(device)})))
    return;
  bool isTaken = false;
  for (const int dim : kTf32AttentionDims) {
    const Tf32AttentionShape s = tf32_attention_shape(dim);
    const std::string name = "attention_tf32x3_d" + std::to_string(dim);
    const bool allowed = out.allows({name}, head_reason(dim, p.dim, isTaken, s.sharedBytes + kTf32AttentionStaticBytes, device));
    if (allowed) out.add(portable_variant(p, name, s.rows, kTf32AttentionThreads, s.sharedBytes, 1));
    isTaken = isTaken || p.dim <= dim;  // larger kernels are not tried
  }
}

template <class Params> void add_plain(const Params& p, const std::string& prefix, DType dtype, cuda::Candidates& out) {
  for (const int dim : {64, 512}) {
    const bool wrongType = dim == 64 && dtype != DType::f32, isTaken = dim == 512 && dtype == DType::f32 && p.dim <= 64;
    const cuda::Reason reason =
        cuda::first_of({cuda::if_so(wrongType, {"is for f32"}), cuda::if_so(isTaken, {"is for larger heads than #", {p.dim}}),
                        cuda::if_so(p.dim > dim, {"is for heads of at most #, the row has heads of #", {dim, p.dim}})});
    const std::string name = prefix + "_d" + std::to_string(dim);
    if (out.allows({name}, reason)) out.add(portable_variant(p, name, 32, 256, 0, 1));
  }
}

/** Against kernels that show all keys, where the row has a window. */
constexpr cuda::Reason kNoWindow{"has no window"};

void add_local(const AttentionArgs& a, const AttentionMmaParams& base, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  AttentionLocalParams p{};
  static_cast<AttentionMmaParams&>(p) = base;
  p.causal = 0;
  p.sight = attention_sight(a);
  const DType dtype = a.q.dtype;
  add_flash(p, "attention_local_" + cuda::type_name(dtype), {64, 96, 128, 160, 256, 512}, dtype, device, out);
  add_plain(p, "attention_local_plain_" + cuda::type_name(dtype), dtype, out);
  for (const char* name : {"attention_mma_*", "attention_plain_*", "attention_tf32x3_*"}) out.reject({name}, kNoWindow);
}

}  // namespace

bool has_attention_window(const AttentionArgs& a) { return a.window[0] > 0 || a.window[1] > 0 || a.window[2] > 0; }

void add_portable_attention(const AttentionArgs& a, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const AttentionMmaParams p = cuda::attention_rows(a);
  const DType dtype = a.q.dtype;
  add_time(a, p, device, out);
  add_few(a, p, device, out);
  if (has_attention_window(a)) return add_local(a, p, device, out);
  add_flash(p, "attention_mma_" + cuda::type_name(dtype), {32, 64, 80, 96, 128, 160, 256, 512}, dtype, device, out);
  add_plain(p, "attention_plain_" + cuda::type_name(dtype), dtype, out);
  add_tf32(p, dtype, device, out);
  // Sequences that fit one tile of 32 by 32 would leave most of a tile of 64 by 128 empty.
  const bool tiny = p.seqQ <= 32 && p.seqK <= 32;
  if (dtype == DType::f32 && !tiny) std::reverse(out.variants.begin(), out.variants.end());
}

}  // namespace vd
