// The launches of attention over 8-bit codes, wherever those lie.
#pragma once
#include "../../../device/attention_q8.h"
#include "../../core/tensor.h"
#include "candidates.h"

namespace vd::cuda {

/** Codes of queries or keys, [frames of all clips, rows, channels], and bytes from row to row. */
struct AttentionCodes {
  Address base;
  int64_t frames, rows, channels, pitch;
};

/** Why the Hopper kernel cannot leave `y`. heads: their number; scale: of scores. */
Reason attention_q8_sm90_reason(const Tensor& y, int64_t heads, float scale, const DeviceInfo& device);

/** The parameters of attention of q by k over space that follow from their sizes; q, k, y: [B,F,S,E]. */
device::AttentionQ8Params attention_q8_params(const Tensor& q, const Tensor& k, const Tensor& y, int64_t heads, float scale);

/** Bytes of values whose codes lie transposed. v: [B,F,L,E]. */
uint64_t attention_values_bytes(const Tensor& v);

/** The launch of the Hopper kernel, but for the addresses of scales. values: codes in CodeOrder::transposed. yType: of the result. */
Launch attention_q8_sm90_launch(const device::AttentionQ8Params& params, const AttentionCodes& q, const AttentionCodes& k, Address values,
                                DType yType, const DeviceInfo& device);

/** The launch of the kernel on every architecture, but for the addresses of codes and scales: a warp for each query of a head, 128
 * channels to a block. queries: their number. */
Launch attention_q8_plain_launch(const device::AttentionQ8Params& p, int64_t queries);

}  // namespace vd::cuda
