// Attention over frames on mma.sync: a warp owns the frames of one pixel and head, and everything lives in registers.
//
// 16-bit types or float8 codes in aligned rows, head dim 64, up to kFrames keys; no masks, no log-sum-exp.
#pragma once
#include "attention_work.cuh"
#include "kernel.cuh"
#include "ptx/mma.cuh"
#include "quantized.cuh"

namespace vd::device {

/** Eight numbers, as pairs of the type of the products. */
template <class T> __device__ __forceinline__ uint4 time_eight(const T* at) { return *reinterpret_cast<const uint4*>(at); }
__device__ __forceinline__ uint4 time_eight(const __nv_fp8_e4m3* at) {
  const uint2 codes = *reinterpret_cast<const uint2*>(at);
  const auto pair = [](uint32_t two) {
    const __half2 v = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
    return *reinterpret_cast<const uint32_t*>(&v);
  };
  return make_uint4(pair(codes.x & 0xffff), pair(codes.x >> 16), pair(codes.y & 0xffff), pair(codes.y >> 16));
}

/** Eight channels 8t.. and 32 + 8t.. (t: lane of the quad) of row `row`, zeros beyond the sequence. A permutation of
 *  the head's channels that is the same for q and k, so whole loads feed the products directly. */
template <class Source>
__device__ __forceinline__ void time_fragment(uint32_t (&r)[8], const Source* base, int64_t stride, int row, int rows) {
  uint4 a = make_uint4(0, 0, 0, 0), b = a;
  if (row < rows) {
    const Source* at = base + row * stride + (threadIdx.x & 3) * 8;
    a = time_eight(at);
    b = time_eight(at + 32);
  }
  r[0] = a.x;
  r[1] = a.y;
  r[2] = a.z;
  r[3] = a.w;
  r[4] = b.x;
  r[5] = b.y;
  r[6] = b.z;
  r[7] = b.w;
}

/** What scores and results are multiplied with besides. */
struct TimeScales {
  float scores = 1.0f, values = 1.0f;
};

/** One warp: attention over up to kFrames frames of one pixel and head, head dim 64. T: of the products; Source: of q, k and v. */
template <class T, int kFrames, class Source = T, class Result = T>
__device__ __forceinline__ void attention_time(const AttentionMmaParams& p, const TimeScales& scales) {
  constexpr int kBlocks = kFrames / 8;
  const int lane = threadIdx.x & 31, g = lane / 4, t = lane & 3;
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (unit >= static_cast<int64_t>(p.numHeadsFrames)) return;
  const int head = static_cast<int>(unit % p.heads);
  const int64_t pixel = unit / p.heads;
  const int frame = static_cast<int>(pixel % p.frames), batch = static_cast<int>(pixel / p.frames);
  const Source* q = static_cast<const Source*>(p.q.data) + sequence_base(p.q, batch, frame, head, 64);
  const Source* k = static_cast<const Source*>(p.k.data) + sequence_base(p.k, batch, frame, head, 64);
  const Source* v = static_cast<const Source*>(p.v.data) + sequence_base(p.v, batch, frame, head, 64);
  Result* y = static_cast<Result*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, batch, frame, head, 64);
  uint32_t keys[kBlocks][8], values[kBlocks][8];
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) time_fragment(keys[n], k, p.k.row, 8 * n + g, p.seqK);
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) time_fragment(values[n], v, p.v.row, 8 * n + g, p.seqK);
  const float scale = p.scale * scales.scores * kLog2e;

#pragma unroll 1
  for (int m = 0; m < (p.seqQ + 15) / 16; ++m) {
    uint32_t top[8], bottom[8];
    time_fragment(top, q, p.q.row, 16 * m + g, p.seqQ);
    time_fragment(bottom, q, p.q.row, 16 * m + g + 8, p.seqQ);
    float scores[kBlocks][4] = {};
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        const uint32_t a[4] = {top[2 * step], bottom[2 * step], top[2 * step + 1], bottom[2 * step + 1]};
        const uint32_t b[2] = {keys[n][2 * step], keys[n][2 * step + 1]};
        ptx::mma_16816<T>(scores[n], a, b);
      }
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float best = -INFINITY, sum = 0.0f;
#pragma unroll
      for (int n = 0; n < kBlocks; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& s = scores[n][2 * r + i];
          s = 8 * n + 2 * t + i < p.seqK ? s * scale : -INFINITY;
          best = fmaxf(best, s);
        }
      best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
      best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
#pragma unroll
      for (int n = 0; n < kBlocks; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& s = scores[n][2 * r + i];
          s = ptx::exp2_approx(s - best);
          sum += s;
        }
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      inverse[r] = scales.values / sum;
    }
    // Value pair i of a row block, transposed, is the operand whose column n is channel 8 (n / 2) + 2 i + n % 2 (+ 32): so
    // lane t of the result holds channels 8t + 2i of its rows, and eight of them are one 16-byte store.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float out[4][4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int step = 0; step < kBlocks / 2; ++step) {
          const float* s0 = scores[2 * step];
          const float* s1 = scores[2 * step + 1];
          const uint32_t a[4] = {pack2<T>(s0[0], s0[1]), pack2<T>(s0[2], s0[3]), pack2<T>(s1[0], s1[1]), pack2<T>(s1[2], s1[3])};
          const uint32_t b[2] = {ptx::movmatrix_transposed(values[2 * step][4 * half + i]),
                                 ptx::movmatrix_transposed(values[2 * step + 1][4 * half + i])};
          ptx::mma_16816<T>(out[i], a, b);
        }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = 16 * m + g + 8 * r;
        float eight[8];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          eight[2 * i] = out[i][2 * r] * inverse[r];
          eight[2 * i + 1] = out[i][2 * r + 1] * inverse[r];
        }
        if (row < p.seqQ) store8(y + row * p.y.row + 32 * half + 8 * t, eight);
      }
    }
  }
}

/** The same of numbers. */
template <class T, int kFrames> __device__ __forceinline__ void attention_time(const AttentionMmaParams& p) {
  attention_time<T, kFrames>(p, TimeScales{});
}

}  // namespace vd::device
