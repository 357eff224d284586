#include <algorithm>
#include <limits>
#include <string>

#include "../../native/cuda/planning/attention_rows.h"
#include "../../native/generated/op_planners.h"
#include "attention_backward_params.h"

namespace vd {

namespace {

using device::AttentionBackwardParams;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/** Rows of the tensor-core kernels' blocks, of queries or of keys. */
constexpr int kBlockRows = 64;
/** Rows of the tiles that pass, at most. */
constexpr int kTileRows = 32;
/** Rows of the plain kernels' blocks. */
constexpr int kPlainRows = 32;

/** Blocks of `rows` that a sequence of `count` takes, packed ones included. */
int64_t tiles_of(const AttentionBackwardParams& p, int64_t count, int rows) {
  return cuda::ceil_div(count, rows) + (p.numSequences ? p.numSequences + 2 : 0);
}

/** Why no kernel can do the row: they read all operands as q's type, and count rows and blocks in 32 bits. */
cuda::Reason row_reason(const AttentionBackwardArgs& a) {
  const auto other = [&](const Tensor& t, const char* name) {
    return cuda::if_so(t.present() && t.dtype != a.q.dtype, {"has another element type than q", {}, name});
  };
  const int64_t most = std::max({a.q.dim(0), a.q.dim(1), a.q.dim(2), a.k.dim(1), a.k.dim(2)});
  const int64_t sequences = a.cuQ.present() ? a.cuQ.channels() + 1 : 0;
  const auto blocks = [&](const Tensor& t) {
    const int64_t along = a.axis == AttentionAxis::time ? t.dim(1) : t.dim(2);
    return static_cast<double>(cuda::ceil_div(along, kPlainRows) + sequences) * static_cast<double>(t.pixels() / along) *
           static_cast<double>(a.heads);
  };
  const bool tooMany = most > kMost || std::max(blocks(a.q), blocks(a.k)) > static_cast<double>(kMost);
  return cuda::first_of({other(a.k, "k"), other(a.v, "v"), other(a.y, "y"), other(a.dy, "dy"), other(a.dq, "dq"), other(a.dk, "dk"),
                         other(a.dv, "dv"), cuda::if_so(tooMany, {"is for at most # blocks of rows", {kMost}})});
}

AttentionBackwardParams params_of(const AttentionBackwardArgs& a) {
  AttentionBackwardParams p{};
  static_cast<device::AttentionMmaParams&>(p) = cuda::attention_rows(a);
  p.causal = 0;
  p.sight = device::attention_sight(a);
  const bool time = a.axis == AttentionAxis::time;
  p.dy = cuda::attention_view(a.dy, time);
  const int64_t pitch = a.delta.pitch;
  p.delta = a.delta.as<float>();
  p.deltaHead = pitch;
  p.deltaRow = time ? a.heads * pitch : 1;
  p.deltaFrame = time ? 1 : a.heads * pitch;
  p.deltaBatch = a.q.dim(1) * a.heads * pitch;
  p.keyFrames = static_cast<int32_t>(time ? a.k.dim(2) : a.k.dim(1));
  if (a.dq.present()) p.dq = cuda::attention_view(a.dq, time);
  if (a.dk.present()) p.dk = cuda::attention_view(a.dk, time);
  if (a.dv.present()) p.dv = cuda::attention_view(a.dv, time);
  const int chunk = 16 / bytes_of(a.q.dtype);
  const auto aligned = [&](const Tensor& t) { return cuda::aligned16(t.data) && t.pitch % chunk == 0 && p.dim % chunk == 0; };
  p.vector = aligned(a.q) && aligned(a.k) && aligned(a.v) && aligned(a.dy);
  p.dqVector = aligned(a.dq);
  p.dkVector = aligned(a.dk);
  p.dvVector = aligned(a.dv);
  return p;
}

/** The launches of one kind of kernel: the sums first, then the gradients that are asked for. kind: e.g. f16_d64. */
cuda::Variant variant_of(AttentionBackwardParams p, const AttentionBackwardArgs& a, const std::string& kind, int blockRows,
                         uint32_t threads, uint32_t sharedBytes) {
  const int64_t keySequences = a.q.dim(0) * p.keyFrames * p.heads;
  p.numQTiles = static_cast<int32_t>(tiles_of(p, p.seqQ, blockRows));
  p.numKeyTiles = static_cast<int32_t>(tiles_of(p, p.seqK, blockRows));
  cuda::Variant variant{"attention_backward_" + kind, 0, {}, {}};
  const auto launch = [&](const std::string& symbol, int64_t blocks, uint32_t blockThreads, uint32_t bytes) {
    cuda::Launch l;
    l.symbol = "attention_backward_" + symbol;
    l.block = blockThreads;
    l.grid[0] = static_cast<uint32_t>(blocks);
    l.sharedBytes = bytes;
    l.set_params(p);
    variant.launches.push_back(std::move(l));
  };
  launch("delta_" + cuda::type_name(a.q.dtype), cuda::ceil_div(static_cast<int64_t>(p.numHeadsFrames) * p.seqQ, 8), 256, 0);
  if (a.dq.present()) launch("dq_" + kind, static_cast<int64_t>(p.numQTiles) * p.numHeadsFrames, threads, sharedBytes);
  if (a.dk.present() || a.dv.present()) launch("dkv_" + kind, p.numKeyTiles * keySequences, threads, sharedBytes);
  return variant;
}

/** 16-bit types on tensor cores, by the smallest kernels that the head fits. */
void add_mma(const AttentionBackwardArgs& a, const AttentionBackwardParams& p, const cuda::DeviceInfo& device, cuda::Candidates& out) {
  const DType dtype = a.q.dtype;
  const cuda::Reason wrongType = cuda::first_of(
      {cuda::if_so(dtype == DType::f32, {"is for 16-bit types"}), cuda::if_so(dtype == DType::bf16, cuda::sm80_reason(device))});
  const auto there = static_cast<int64_t>(device.sharedBytesPerBlock);
  bool isTaken = false;
  for (const int dim : {64, 96, 128}) {
    const int64_t staticBytes = 2 * kTileRows * 4, bytes = int64_t{2} * (kBlockRows + kTileRows) * (dim * 2 + 16);
    const std::string kind = cuda::type_name(dtype) + "_d" + std::to_string(dim);
    const cuda::Reason reason = cuda::first_of(
        {wrongType, cuda::if_so(p.dim > dim, {"is for heads of at most #, the row has heads of #", {dim, p.dim}}),
         cuda::if_so(isTaken, {"is for larger heads than #", {p.dim}}),
         cuda::if_so(bytes + staticBytes > there, {"needs # bytes of shared memory, a block has #", {bytes + staticBytes, there}})});
    if (!out.allows({"attention_backward_", kind}, reason)) continue;
    out.add(variant_of(p, a, kind, kBlockRows, 128, static_cast<uint32_t>(bytes)));
    isTaken = true;
  }
}

void add_plain(const AttentionBackwardArgs& a, const AttentionBackwardParams& p, cuda::Candidates& out) {
  const DType dtype = a.q.dtype;
  for (const int dim : {64, 512}) {
    const bool wrongType = dim == 64 && dtype != DType::f32, isTaken = dim == 512 && dtype == DType::f32 && p.dim <= 64;
    const std::string kind = "plain_" + cuda::type_name(dtype) + "_d" + std::to_string(dim);
    const cuda::Reason reason =
        cuda::first_of({cuda::if_so(wrongType, {"is for f32"}), cuda::if_so(isTaken, {"is for larger heads than #", {p.dim}}),
                        cuda::if_so(p.dim > dim, {"is for heads of at most #, the row has heads of #", {dim, p.dim}})});
    if (out.allows({"attention_backward_", kind}, reason)) out.add(variant_of(p, a, kind, kPlainRows, 256, 0));
  }
}

}  // namespace

cuda::Candidates attention_backward_cuda_variants(const AttentionBackwardArgs& a, const cuda::DeviceInfo& device,
                                                  const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (!out.allows({"attention_backward_*"}, row_reason(a))) return out;
  const AttentionBackwardParams p = params_of(a);
  add_mma(a, p, device, out);
  add_plain(a, p, out);
  return out;
}

}  // namespace vd
