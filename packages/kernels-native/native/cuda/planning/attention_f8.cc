#include "attention_f8.h"

#include <string>

#include "../../../device/attention_f8.h"
#include "attention_q8.h"
#include "attention_rows.h"
#include "matmul_sm90.h"

namespace vd::cuda {

namespace {

using namespace device;

/** Most frames that the kernel over frames keeps in registers. */
constexpr int64_t kMostFrames = 32;

Reason sm90_reason(const AttentionF8Operands& a, const DeviceInfo& device) {
  const bool words = (reinterpret_cast<uint64_t>(a.v.data) & 3) == 0 && a.v.pitch % 4 == 0;
  return first_of({if_so(a.axis != AttentionAxis::space, {"is for attention over space"}),
                   attention_q8_sm90_reason(a.y, a.heads, a.scale, device), copy_engine_access_reason(a.q, "q"),
                   copy_engine_access_reason(a.k, "k"), if_so(!words, {"is not 4-byte aligned", {}, "v"})});
}

/** Has values lie as the Hopper kernel takes them, at the start of the workspace. */
Launch values_launch(const AttentionF8Operands& a) {
  AttentionValuesParams p{};
  p.v = a.v.as<uint8_t>();
  p.pitch = a.v.pitch;
  p.rows = static_cast<int32_t>(a.v.dim(2));
  p.paddedRows = static_cast<int32_t>(round_up(a.v.dim(2), kQ8Keys));
  p.heads = static_cast<int32_t>(a.heads);
  Launch launch;
  launch.symbol = "attention_q8_values";
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(a.v.dim(0) * a.v.dim(1) * a.heads * (p.paddedRows / kQ8Keys));
  launch.set_params(p);
  launch.relocations.push_back({offsetof(AttentionValuesParams, codes), Address::workspace(0)});
  return launch;
}

/** The parameters of kernels over codes, which all have one scale. */
AttentionQ8Params make_params(const AttentionF8Operands& a) {
  AttentionQ8Params p = attention_q8_params(a.q, a.k, a.y, a.heads, a.scale);
  p.qScales = a.qScale.as<float>();
  p.kScales = a.kScale.as<float>();
  p.vScales = a.vScale.as<float>();
  p.yScale = a.yScale;
  return p;
}

Variant sm90_variant(const AttentionF8Operands& a, const DeviceInfo& device) {
  const auto codes = [](const Tensor& x) -> AttentionCodes {
    return {Address::of(x.data), x.dim(0) * x.dim(1), x.dim(2), x.channels(), x.pitch};
  };
  Variant variant;
  variant.name = "sm90_d64";
  variant.launches.push_back(values_launch(a));
  variant.launches.push_back(attention_q8_sm90_launch(make_params(a), codes(a.q), codes(a.k), Address::workspace(0), a.y.dtype, device));
  variant.workspaceBytes = attention_values_bytes(a.v);
  return variant;
}

/** The row as one of attention, for where its sequences lie. */
AttentionMmaParams rows_of(const AttentionF8Operands& f) {
  AttentionArgs a{};
  a.q = f.q;
  a.k = f.k;
  a.v = f.v;
  a.y = f.y;
  a.axis = f.axis;
  a.heads = f.heads;
  a.scale = f.scale;
  return attention_rows(a);
}

Reason time_reason(const AttentionF8Operands& a, const AttentionMmaParams& p, const DeviceInfo& device) {
  return first_of({if_so(a.axis != AttentionAxis::time, {"is for attention over time"}),
                   if_so(a.y.dtype == DType::f32, {"is of float32", {}, "y"}), if_so(a.y.dtype == DType::bf16, sm80_reason(device)),
                   if_so(p.dim != 64, {"is for heads of #, the row has heads of #", {64, p.dim}}),
                   if_so(p.seqK > kMostFrames, {"is for 1 to # keys, the row has #", {kMostFrames, p.seqK}}),
                   if_so(!p.vector, {"is for rows that can be moved 16 bytes at a time"})});
}

Variant time_variant(const AttentionF8Operands& a, const AttentionMmaParams& rows, const DeviceInfo& device) {
  const AttentionF8Params p{rows, a.qScale.as<float>(), a.kScale.as<float>(), a.vScale.as<float>(), a.yScale};
  Launch launch;
  launch.symbol = "attention_f8_time_" + type_name(a.y.dtype) + (rows.seqK <= 16 ? "_f16" : "_f32");
  launch.block = 128;
  launch.overlapped = device.smVersion >= 90;
  launch.grid[0] = static_cast<uint32_t>(ceil_div(rows.numHeadsFrames, 4));
  launch.set_params(p);
  return {launch.symbol, 0, {}, {std::move(launch)}};
}

Variant plain_variant(const AttentionF8Operands& a) {
  AttentionQ8Params p = make_params(a);
  p.overTime = a.axis == AttentionAxis::time;
  p.qCodes = a.q.as<uint8_t>();
  p.kCodes = a.k.as<uint8_t>();
  p.vRows = a.v.data;
  p.qPitch = a.q.pitch;
  p.kPitch = a.k.pitch;
  p.vPitch = a.v.pitch;
  return {"plain", 0, {}, {attention_q8_plain_launch(p, a.q.pixels())}};
}

}  // namespace

void add_attention_f8(const AttentionF8Operands& a, const DeviceInfo& device, Candidates& out) {
  if (out.allows({"sm90_d64"}, sm90_reason(a, device))) out.add(sm90_variant(a, device));
  const AttentionMmaParams rows = rows_of(a);
  if (out.allows({"attention_f8_time_*"}, time_reason(a, rows, device))) out.add(time_variant(a, rows, device));
  out.add(plain_variant(a));
}

}  // namespace vd::cuda
