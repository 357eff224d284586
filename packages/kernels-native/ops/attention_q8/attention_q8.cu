// attention_q8 on every architecture: codes and scales of the operands, and a plain kernel for what tensor cores do not do.
//
//   attention_q8_maxima  the largest magnitude of each 512 rows of an operand's head
//   attention_q8_codes   a scale for each frame and head, and codes of 128 rows to a block, as they are or transposed through shared
//                        memory
//   attention_q8_plain   a warp for each query of a head: 32 keys at a time, a key a lane for the scores, channels over the lanes for
//                        the values
#include "../../device/elementwise.cuh"
#include "../../device/ptx/math.cuh"
#include "../../device/quantized.cuh"
#include "attention_q8_params.h"

using namespace vd::device;

namespace {

constexpr int kThreads = 256;

/** The larger of two numbers, NaN where one is. */
__device__ __forceinline__ float larger(float a, float b) { return a != a || b != b ? NAN : fmaxf(a, b); }

__device__ __forceinline__ float max_block(float v) {
  __shared__ float parts[kThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) v = larger(v, __shfl_xor_sync(0xffffffffu, v, step));
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) v = larger(v, parts[i]);
  return v;
}

/** One element as its code. */
__device__ __forceinline__ uint8_t code_of(float v, float inverse, int isInt8) {
  const float scaled = __fmul_rn(v, inverse);
  return isInt8 ? static_cast<uint8_t>(from_float<int8_t>(scaled)) : from_float<__nv_fp8_e4m3>(scaled).__x;
}

/** Where row `row` of 16 lies among the columns of transposed values: lane t of a quad holds rows 2t, 2t + 1, 2t + 8, 2t + 9. */
__device__ __forceinline__ int place_of(int row) { return (row >> 1 & 3) * 4 + (row >> 3 & 1) * 2 + (row & 1); }

/** What a block works on: rows [from, to) of one head of one frame. */
struct HeadRows {
  int item, frame, head, from, to;  // item: frame · heads + head
};
/** Rows of block blockIdx.x where one has `count` rows. Returns whether there are any. */
__device__ __forceinline__ bool head_rows(const AttentionCodesParams& p, const AttentionCodesSide& side, int rows, int count,
                                          HeadRows& out) {
  const int blocks = (rows + count - 1) / count;
  out.item = blockIdx.x / blocks;
  out.frame = out.item / p.heads;
  out.head = out.item % p.heads;
  out.from = blockIdx.x % blocks * count;
  out.to = min(out.from + count, side.rows);
  return out.frame < side.frames;
}

/** Runs of a head's rows that a thread has in flight. */
constexpr int kRunsAtOnce = 4;

/** Up to kRunsAtOnce runs of kWidth channels each of the rows of `at`: run first + threadIdx.x and every kThreads-th behind it. */
template <int kWidth> struct Runs {
  float v[kRunsAtOnce][kWidth];
  int row[kRunsAtOnce], channel[kRunsAtOnce];  // row -1: there is none

  __device__ __forceinline__ void load(const AttentionCodesParams& p, const AttentionCodesSide& side, const HeadRows& at, int first) {
    const int runs = p.dim / kWidth, count = (at.to - at.from) * runs;
#pragma unroll
    for (int j = 0; j < kRunsAtOnce; ++j) {
      const int i = first + j * kThreads + threadIdx.x;
      row[j] = i < count ? at.from + i / runs : -1;
      channel[j] = i % runs * kWidth;
      if (i >= count) continue;
      load_run<kWidth>(side.x, p.xType,
                       (static_cast<int64_t>(at.frame) * side.rows + row[j]) * side.pitch + at.head * p.dim + channel[j], v[j]);
    }
  }
  template <class Body> __device__ __forceinline__ void each(Body&& body) {
#pragma unroll
    for (int j = 0; j < kRunsAtOnce; ++j)
      if (row[j] >= 0) body(row[j], channel[j], v[j]);
  }
};

/** Visits all runs of the rows of `at`; calls `begin` when the first ones are on their way. */
template <int kWidth, class Begin, class Body>
__device__ __forceinline__ void for_each_run(const AttentionCodesParams& p, const AttentionCodesSide& side, const HeadRows& at,
                                             Begin&& begin, Body&& body) {
  const int count = (at.to - at.from) * (p.dim / kWidth);
  Runs<kWidth> runs;
  runs.load(p, side, at, 0);
  begin();
  runs.each(body);
  for (int first = kRunsAtOnce * kThreads; first < count; first += kRunsAtOnce * kThreads) {
    runs.load(p, side, at, first);
    runs.each(body);
  }
}

/** The largest magnitude; NaN is left out, but a NaN among float8 keys, which all results of the head depend on, gives NaN. */
template <int kWidth>
__device__ __forceinline__ void head_maxima(const AttentionCodesParams& p, const AttentionCodesSide& side, const HeadRows& at) {
  const bool keeps = blockIdx.y == 1 && !side.isInt8;
  float found = 0.0f;
  for_each_run<kWidth>(p, side, at, [] {}, [&](int, int, const float (&v)[kWidth]) {
    float largest = largest_of<kWidth>(v, 0.0f), sum = 0.0f;
    if (keeps) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sum += v[i] - v[i];  // not 0 where one is no finite number
      if (sum != sum) largest = NAN;
    }
    found = larger(found, largest);
  });
  found = max_block(found);
  if (threadIdx.x == 0) side.maxima[blockIdx.x] = found;
}

__device__ __forceinline__ void attention_maxima(const AttentionCodesParams& p) {
  const AttentionCodesSide& side = p.sides[blockIdx.y];
  HeadRows at;
  if (!head_rows(p, side, side.rows, kQ8MaximaRows, at)) return;
  if (p.vector) head_maxima<8>(p, side, at);
  else head_maxima<1>(p, side, at);
}

/** The scale of the codes of a head, from the largest magnitudes of its parts. */
__device__ __forceinline__ float head_scale(const AttentionCodesSide& side, const HeadRows& at) {
  const int parts = (side.rows + kQ8MaximaRows - 1) / kQ8MaximaRows;
  float found = 0.0f;
  for (int i = threadIdx.x; i < parts; i += kThreads) found = larger(found, side.maxima[at.item * parts + i]);
  found = max_block(found);
  const float scale = found != found ? found : code_scale(found, side.isInt8);
  if (threadIdx.x == 0 && at.from == 0) side.scales[at.item] = scale;
  return scale;
}

/** Codes of rows as they are. */
template <int kWidth>
__device__ __forceinline__ void codes_in_rows(const AttentionCodesParams& p, const AttentionCodesSide& side, const HeadRows& at) {
  const int64_t channels = static_cast<int64_t>(p.heads) * p.dim;
  uint8_t* codes = side.codes + static_cast<int64_t>(at.frame) * side.rows * channels + at.head * p.dim;
  float inverse;
  for_each_run<kWidth>(
      p, side, at, [&] { inverse = __frcp_rn(head_scale(side, at)); },
      [&](int row, int c, float (&v)[kWidth]) { store_codes<kWidth>(codes + row * channels + c, v, inverse, side.isInt8); });
}

/** Codes of up to 128 rows with channels outside, zeros behind the last row. */
template <int kWidth>
__device__ __forceinline__ void codes_transposed(const AttentionCodesParams& p, const AttentionCodesSide& side, const HeadRows& at) {
  __shared__ __align__(16) uint8_t tile[64][kQ8Keys];
  // Chunks of 16 columns change places from one run of channels to the next, so that a warp's stores meet all banks.
  const auto place = [](int c, int column) { return column ^ (c >> 3 & 7) << 4; };
  if (at.to - at.from < kQ8Keys)
    for (int i = threadIdx.x; i < 64 * kQ8Keys / 16; i += kThreads) reinterpret_cast<uint4*>(tile)[i] = make_uint4(0, 0, 0, 0);
  float inverse;
  for_each_run<kWidth>(
      p, side, at, [&] { inverse = __frcp_rn(head_scale(side, at)); },  // meets all threads behind the zeros, too
      [&](int row, int c, float (&v)[kWidth]) {
        const int column = ((row - at.from) & ~15) + place_of(row & 15);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) tile[c + i][place(c + i, column)] = code_of(v[i], inverse, side.isInt8);
      });
  __syncthreads();
  uint8_t* codes = side.codes + static_cast<int64_t>(at.item) * p.dim * side.paddedRows + at.from;
  for (int i = threadIdx.x; i < p.dim * (kQ8Keys / 16); i += kThreads) {
    const int d = i / (kQ8Keys / 16), chunk = i % (kQ8Keys / 16);
    *reinterpret_cast<uint4*>(codes + static_cast<int64_t>(d) * side.paddedRows + chunk * 16) =
        *reinterpret_cast<const uint4*>(&tile[d][place(d, chunk * 16)]);
  }
}

template <int kWidth>
__device__ __forceinline__ void head_codes(const AttentionCodesParams& p, const AttentionCodesSide& side, const HeadRows& at) {
  if (side.order == CodeOrder::rows) codes_in_rows<kWidth>(p, side, at);
  else codes_transposed<kWidth>(p, side, at);
}

__device__ __forceinline__ void attention_codes(const AttentionCodesParams& p) {
  const AttentionCodesSide& side = p.sides[blockIdx.y];
  HeadRows at;
  if (!head_rows(p, side, side.paddedRows, kQ8Keys, at)) return;
  if (p.vector) head_codes<8>(p, side, at);
  else head_codes<1>(p, side, at);
}

__device__ __forceinline__ float number_of(uint8_t code, int isInt8) {
  if (isInt8) return to_float(static_cast<int8_t>(code));
  __nv_fp8_e4m3 v;
  v.__x = code;
  return to_float(v);
}

/** Channels beyond 32 · kParts are left to further blocks in y. */
template <int kParts> __device__ __forceinline__ void attention_plain(const AttentionQ8Params& p) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x & 31, channel0 = blockIdx.y * 32 * kParts + lane;
  const int head = static_cast<int>(item % p.heads);
  const int64_t row = item / p.heads, frame = row / p.seqQ;
  if (frame >= p.numTiles) return;  // frames of all clips
  const int64_t keyFrame = p.keyFrames == p.frames ? frame : frame / p.frames;
  const int64_t channels = static_cast<int64_t>(p.heads) * p.dim;
  const uint8_t* q = p.qCodes + row * channels + head * p.dim;
  const float scale = p.scale * p.qScales[frame * p.heads + head] * p.kScales[keyFrame * p.heads + head];
  float out[kParts] = {}, maximum = -INFINITY, total = 0.0f;
  for (int key0 = 0; key0 < p.seqK; key0 += 32) {
    const int key = key0 + lane;
    float score = -INFINITY;
    if (key < p.seqK) {
      const uint8_t* k = p.kCodes + (keyFrame * p.seqK + key) * channels + head * p.dim;
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
    for (int j = 0; j < min(32, p.seqK - key0); ++j) {
      const float weight = __shfl_sync(0xffffffffu, power, j);
      total += weight;
      const int64_t at = (keyFrame * p.seqK + key0 + j) * p.vPitch + head * p.dim;
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
  const float factor = (p.vScales != nullptr ? p.vScales[keyFrame * p.heads + head] : 1.0f) / total;
#pragma unroll
  for (int i = 0; i < kParts; ++i)
    if (channel0 + 32 * i < p.dim) store_any(p.y, p.xType, row * p.yPitch + head * p.dim + channel0 + 32 * i, out[i] * factor);
}

}  // namespace

VD_KERNEL(attention_q8_maxima, AttentionCodesParams, kThreads, 4, attention_maxima)
VD_KERNEL(attention_q8_codes, AttentionCodesParams, kThreads, 4, attention_codes)
VD_KERNEL(attention_q8_plain, AttentionQ8Params, kThreads, 2, attention_plain<4>)
