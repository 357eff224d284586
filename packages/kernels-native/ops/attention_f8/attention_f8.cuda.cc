#include "../../native/generated/op_planners.h"

#include <string>

#include "../../native/cuda/planning/attention_q8.h"
#include "../../native/cuda/planning/attention_rows.h"
#include "../../native/cuda/planning/matmul_sm90.h"
#include "attention_f8_params.h"

namespace vd {

namespace {

using namespace device;

/** Most frames that the kernel over frames keeps in registers. */
constexpr int64_t kMostFrames = 32;

cuda::Reason sm90_reason(const AttentionF8Args& a, const cuda::DeviceInfo& device) {
  const bool words = (reinterpret_cast<uint64_t>(a.v.data) & 3) == 0 && a.v.pitch % 4 == 0;
  return cuda::first_of({cuda::if_so(a.axis != AttentionAxis::space, {"is for attention over space"}),
                         cuda::attention_q8_sm90_reason(a.y, a.heads, a.scale, device), cuda::copy_engine_access_reason(a.q, "q"),
                         cuda::copy_engine_access_reason(a.k, "k"), cuda::if_so(!words, {"is not 4-byte aligned", {}, "v"})});
}

/** Has values lie as the Hopper kernel takes them, at the start of the workspace. */
cuda::Launch values_launch(const AttentionF8Args& a) {
  AttentionValuesParams p{};
  p.v = a.v.as<uint8_t>();
  p.pitch = a.v.pitch;
  p.rows = static_cast<int32_t>(a.v.dim(2));
  p.paddedRows = static_cast<int32_t>(cuda::round_up(a.v.dim(2), kQ8Keys));
  p.heads = static_cast<int32_t>(a.heads);
  cuda::Launch launch;
  launch.symbol = "attention_q8_values";
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(a.v.dim(0) * a.v.dim(1) * a.heads * (p.paddedRows / kQ8Keys));
  launch.set_params(p);
  launch.relocations.push_back({offsetof(AttentionValuesParams, codes), cuda::Address::workspace(0)});
  return launch;
}

/** The parameters of kernels over codes, which all have one scale. */
AttentionQ8Params make_params(const AttentionF8Args& a) {
  AttentionQ8Params p = cuda::attention_q8_params(a.q, a.k, a.y, a.heads, a.scale);
  p.qScales = a.qScale.as<float>();
  p.kScales = a.kScale.as<float>();
  p.vScales = a.vScale.as<float>();
  return p;
}

cuda::Variant sm90_variant(const AttentionF8Args& a, const cuda::DeviceInfo& device) {
  const auto codes = [](const Tensor& x) -> cuda::AttentionCodes {
    return {cuda::Address::of(x.data), x.dim(0) * x.dim(1), x.dim(2), x.channels(), x.pitch};
  };
  cuda::Variant variant;
  variant.name = "sm90_d64";
  variant.launches.push_back(values_launch(a));
  variant.launches.push_back(
      cuda::attention_q8_sm90_launch(make_params(a), codes(a.q), codes(a.k), cuda::Address::workspace(0), a.y.dtype, device));
  variant.workspaceBytes = cuda::attention_values_bytes(a.v);
  return variant;
}

/** The row as one of attention, for where its sequences lie. */
AttentionMmaParams rows_of(const AttentionF8Args& f) {
  AttentionArgs a{};
  a.q = f.q;
  a.k = f.k;
  a.v = f.v;
  a.y = f.y;
  a.axis = f.axis;
  a.heads = f.heads;
  a.scale = f.scale;
  return cuda::attention_rows(a);
}

cuda::Reason time_reason(const AttentionF8Args& a, const AttentionMmaParams& p, const cuda::DeviceInfo& device) {
  return cuda::first_of({cuda::if_so(a.axis != AttentionAxis::time, {"is for attention over time"}),
                         cuda::if_so(!cuda::is_16_bit(a.y.dtype), {"is not of a 16-bit float type", {}, "y"}),
                         cuda::if_so(a.y.dtype == DType::bf16, cuda::sm80_reason(device)),
                         cuda::if_so(p.dim != 64, {"is for heads of #, the row has heads of #", {64, p.dim}}),
                         cuda::if_so(p.seqK > kMostFrames, {"is for 1 to # keys, the row has #", {kMostFrames, p.seqK}}),
                         cuda::if_so(!p.vector, {"is for rows that can be moved 16 bytes at a time"})});
}

cuda::Variant time_variant(const AttentionF8Args& a, const AttentionMmaParams& rows, const cuda::DeviceInfo& device) {
  const AttentionF8Params p{rows, a.qScale.as<float>(), a.kScale.as<float>(), a.vScale.as<float>()};
  cuda::Launch launch;
  launch.symbol = "attention_f8_time_" + cuda::type_name(a.y.dtype) + (rows.seqK <= 16 ? "_f16" : "_f32");
  launch.block = 128;
  launch.overlapped = device.smVersion >= 90;
  launch.grid[0] = static_cast<uint32_t>(cuda::ceil_div(rows.numHeadsFrames, 4));
  launch.set_params(p);
  return {launch.symbol, 0, {}, {std::move(launch)}};
}

cuda::Variant plain_variant(const AttentionF8Args& a) {
  AttentionQ8Params p = make_params(a);
  p.overTime = a.axis == AttentionAxis::time;
  p.qCodes = a.q.as<uint8_t>();
  p.kCodes = a.k.as<uint8_t>();
  p.vRows = a.v.data;
  p.qPitch = a.q.pitch;
  p.kPitch = a.k.pitch;
  p.vPitch = a.v.pitch;
  return {"plain", 0, {}, {cuda::attention_q8_plain_launch(p, a.q.pixels())}};
}

}  // namespace

cuda::Candidates attention_f8_cuda_variants(const AttentionF8Args& a, const cuda::DeviceInfo& device,
                                            const cuda::PlanningOptions& options) {
  cuda::Candidates out(options);
  if (out.allows({"sm90_d64"}, sm90_reason(a, device))) out.add(sm90_variant(a, device));
  const AttentionMmaParams rows = rows_of(a);
  if (out.allows({"attention_f8_time_*"}, time_reason(a, rows, device))) out.add(time_variant(a, rows, device));
  out.add(plain_variant(a));
  return out;
}

}  // namespace vd
