// attention_q8 on every architecture: codes and scales of the operands, and a plain kernel for what tensor cores do not do.
//
//   attention_q8_codes   a block for each operand, frame and head: largest magnitude, then codes, rows or transposed through shared
//                        memory
//   attention_q8_plain   a warp for each query of a head: 32 keys at a time, a key a lane for the scores, channels over the lanes for
//                        the values; over time where all heads have one scale
#include "../../device/elementwise.cuh"
#include "../../device/ptx/math.cuh"
#include "../../device/quantized.cuh"
#include "attention_q8_codes.cuh"

using namespace vd::device;

namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ float max_block(float v) {
  __shared__ float parts[kThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) v = larger_or_nan(v, __shfl_xor_sync(0xffffffffu, v, step));
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) v = larger_or_nan(v, parts[i]);
  return v;
}

/** One element as its code. */
__device__ __forceinline__ uint8_t code_of(float v, float inverse, int isInt8) {
  const float scaled = __fmul_rn(v, inverse);
  return isInt8 ? static_cast<uint8_t>(from_float<int8_t>(scaled)) : from_float<__nv_fp8_e4m3>(scaled).__x;
}

/** Visits kWidth channels at a time of the rows [from, to) of this block's head. */
template <int kWidth, class Body>
__device__ __forceinline__ void for_each_run(const AttentionCodesParams& p, const AttentionCodesSide& side, int frame, int head, int from,
                                             int to, Body&& body) {
  const int runs = p.dim / kWidth;
  for (int i = threadIdx.x; i < (to - from) * runs; i += kThreads) {
    const int row = from + i / runs, c = i % runs * kWidth;
    float v[kWidth];
    load_run<kWidth>(side.x, p.xType, (static_cast<int64_t>(frame) * side.rows + row) * side.pitch + head * p.dim + c, v);
    body(row, c, v);
  }
}

template <int kWidth> __device__ __forceinline__ void head_codes(const AttentionCodesParams& p, const AttentionCodesSide& side) {
  __shared__ __align__(16) uint8_t tile[64][kQ8Keys + 16];
  const int frame = blockIdx.x / p.heads, head = blockIdx.x % p.heads;
  float found = 0.0f;
  for_each_run<kWidth>(p, side, frame, head, 0, side.rows, [&](int, int, const float (&v)[kWidth]) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) found = side.keepsNan ? larger_or_nan(found, fabsf(v[i])) : fmaxf(found, fabsf(v[i]));
  });
  const float scale = side.shrink * head_code_scale(max_block(found), side.isInt8), inverse = __frcp_rn(scale);
  if (threadIdx.x == 0) side.scales[blockIdx.x] = scale;
  if (side.order == CodeOrder::rows) {
    uint8_t* codes = side.codes + static_cast<int64_t>(frame) * side.rows * p.heads * p.dim + head * p.dim;
    for_each_run<kWidth>(p, side, frame, head, 0, side.rows, [&](int row, int c, const float (&v)[kWidth]) {
      uint8_t* at = codes + static_cast<int64_t>(row) * p.heads * p.dim + c;
      if constexpr (kWidth == 8) {
        uint32_t words[2] = {0, 0};
#pragma unroll
        for (int i = 0; i < 8; ++i) words[i / 4] |= static_cast<uint32_t>(code_of(v[i], inverse, side.isInt8)) << (i % 4 * 8);
        *reinterpret_cast<uint2*>(at) = make_uint2(words[0], words[1]);
      } else {
        *at = code_of(v[0], inverse, side.isInt8);
      }
    });
    return;
  }
  uint8_t* codes = side.codes + static_cast<int64_t>(blockIdx.x) * p.dim * side.paddedRows;
  for (int from = 0; from < side.paddedRows; from += kQ8Keys) {
    const int to = min(from + kQ8Keys, side.rows);
    __syncthreads();
    if (to - from < kQ8Keys)
      for (int i = threadIdx.x; i < 64 * kQ8Keys; i += kThreads) tile[i / kQ8Keys][i % kQ8Keys] = 0;
    __syncthreads();
    for_each_run<kWidth>(p, side, frame, head, from, to, [&](int row, int c, const float (&v)[kWidth]) {
      const int column = ((row - from) & ~15) + place_of(row & 15);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) tile[c + i][column] = code_of(v[i], inverse, side.isInt8);
    });
    __syncthreads();
    for (int i = threadIdx.x; i < p.dim * (kQ8Keys / 16); i += kThreads) {
      const int d = i / (kQ8Keys / 16), chunk = i % (kQ8Keys / 16);
      *reinterpret_cast<uint4*>(codes + static_cast<int64_t>(d) * side.paddedRows + from + chunk * 16) =
          *reinterpret_cast<const uint4*>(&tile[d][chunk * 16]);
    }
  }
}

__device__ __forceinline__ void attention_codes(const AttentionCodesParams& p) {
  const AttentionCodesSide& side = p.sides[blockIdx.y];
  if (static_cast<int>(blockIdx.x) >= side.frames * p.heads) return;
  if (p.vector) head_codes<8>(p, side);
  else head_codes<1>(p, side);
}

__device__ __forceinline__ float number_of(uint8_t code, int isInt8) {
  if (isInt8) return to_float(static_cast<int8_t>(code));
  __nv_fp8_e4m3 v;
  v.__x = code;
  return to_float(v);
}

/** The keys of a query. */
struct PlainKeys {
  int64_t first, step;  // rows of k
  int64_t frame;        // over space
  int count;

  __device__ __forceinline__ PlainKeys(const AttentionQ8Params& p, int64_t queryRow, int64_t queryFrame) {
    const int64_t clip = queryFrame / p.frames;
    frame = p.overTime ? 0 : p.keyFrames == p.frames ? queryFrame : clip;
    first = p.overTime ? clip * p.keyFrames * p.seqK + queryRow % p.seqQ : frame * p.seqK;
    step = p.overTime ? p.seqK : 1;
    count = p.overTime ? p.keyFrames : p.seqK;
  }
  __device__ __forceinline__ int64_t row(int key) const { return first + key * step; }
  /** Where the scale of a head's keys, and of its values, lies. */
  __device__ __forceinline__ int64_t scale(const AttentionQ8Params& p, int head) const { return (frame * p.heads + head) * p.scaleStride; }
};

/** Channels beyond 32 · kParts are left to further blocks in y. */
template <int kParts> __device__ __forceinline__ void attention_plain(const AttentionQ8Params& p) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x & 31, channel0 = blockIdx.y * 32 * kParts + lane;
  const int head = static_cast<int>(item % p.heads);
  const int64_t row = item / p.heads, frame = row / p.seqQ;
  if (frame >= p.numTiles) return;  // frames of all clips
  const PlainKeys keys(p, row, frame);
  const uint8_t* q = p.qCodes + row * p.qPitch + head * p.dim;
  const float scale = p.scale * p.qScales[(frame * p.heads + head) * p.scaleStride] * p.kScales[keys.scale(p, head)];
  float out[kParts] = {}, maximum = -INFINITY, total = 0.0f;
  for (int key0 = 0; key0 < keys.count; key0 += 32) {
    const int key = key0 + lane;
    float score = -INFINITY;
    if (key < keys.count) {
      const uint8_t* k = p.kCodes + keys.row(key) * p.kPitch + head * p.dim;
      float dot = 0.0f;
      for (int d = 0; d < p.dim; ++d) dot = fmaf(number_of(q[d], p.isInt8), number_of(k[d], p.isInt8), dot);
      score = dot * scale;
    }
    float best = score;
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
    const float raised = fmaxf(maximum, best), factor = ptx::exp2_approx(maximum - raised), power = ptx::exp2_approx(score - raised);
    maximum = raised;
    total *= factor;
#pragma unroll
    for (int i = 0; i < kParts; ++i) out[i] *= factor;
    for (int j = 0; j < min(32, keys.count - key0); ++j) {
      const float weight = __shfl_sync(0xffffffffu, power, j);
      total += weight;
      const int64_t at = keys.row(key0 + j) * p.vPitch + head * p.dim;
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const int c = channel0 + 32 * i;
        if (c >= p.dim) continue;
        const float v =
            p.vScales != nullptr ? number_of(static_cast<const uint8_t*>(p.vRows)[at + c], 0) : load_any(p.vRows, p.xType, at + c);
        out[i] = fmaf(weight, v, out[i]);
      }
    }
  }
  const float scales = (p.vScales != nullptr ? p.vScales[keys.scale(p, head)] : 1.0f) / (p.yScale != nullptr ? *p.yScale : 1.0f);
  const float factor = scales / total;
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    if (channel0 + 32 * i >= p.dim) continue;
    const int64_t at = row * p.yPitch + head * p.dim + channel0 + 32 * i;
    if (p.xType == kF8E4M3) static_cast<__nv_fp8_e4m3*>(p.y)[at] = from_float<__nv_fp8_e4m3>(out[i] * factor);
    else store_any(p.y, p.xType, at, out[i] * factor);
  }
}

}  // namespace

VD_KERNEL(attention_q8_codes, AttentionCodesParams, kThreads, 4, attention_codes)
VD_KERNEL(attention_q8_plain, AttentionQ8Params, kThreads, 2, attention_plain<4>)
