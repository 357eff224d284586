// Attention over frames on mma.sync: a warp owns the frames of one pixel and head, and everything lives in registers.
//
// 16-bit types or float8 codes in aligned rows, head dim 64, up to kFrames keys; no masks, no log-sum-exp.
#pragma once
#include "attention_work.cuh"
#include "kernel.cuh"
#include "ptx/mma.cuh"
#include "quantized.cuh"

namespace vd::device {

/** Eight numbers as they lie in memory. */
template <class Source> struct TimeEight {
  using Words = uint4;
};
template <> struct TimeEight<__nv_fp8_e4m3> {
  using Words = uint2;
};

/** Channels 8t.. and 32 + 8t.. (t: lane of the quad) of a row, as they lie in memory. A permutation of the head's channels that is the same
 *  for q and k, so that whole loads feed the products directly. */
template <class Source> using TimeRow = typename TimeEight<Source>::Words[2];

/** Loads row `row`, zeros beyond the sequence. */
template <class Source>
__device__ __forceinline__ void time_load(TimeRow<Source>& r, const Source* base, int64_t stride, int row, int rows) {
  using Words = typename TimeEight<Source>::Words;
  r[0] = r[1] = Words{};
  if (row < rows) {
    const Source* at = base + row * stride + (threadIdx.x & 3) * 8;
    r[0] = *reinterpret_cast<const Words*>(at);
    r[1] = *reinterpret_cast<const Words*>(at + 32);
  }
}

/** Eight numbers as four pairs of the type of the products. */
__device__ __forceinline__ void time_pairs(uint32_t (&pairs)[4], const uint4& words) {
  pairs[0] = words.x;
  pairs[1] = words.y;
  pairs[2] = words.z;
  pairs[3] = words.w;
}
__device__ __forceinline__ void time_pairs(uint32_t (&pairs)[4], const uint2& codes) {
  uint32_t words[2] = {codes.x, codes.y};
  // As if unknown: the compiler would keep the pairs of all rows, in twice the registers.
  asm volatile("" : "+r"(words[0]), "+r"(words[1]));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t two = words[i / 2] >> i % 2 * 16 & 0xffff;
    const __half2 v = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
    pairs[i] = *reinterpret_cast<const uint32_t*>(&v);
  }
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
  TimeRow<Source> keys[kBlocks], values[kBlocks];
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) time_load(keys[n], k, p.k.row, 8 * n + g, p.seqK);
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) time_load(values[n], v, p.v.row, 8 * n + g, p.seqK);
  // Codes of queries are under way beside keys and values, and the next beside the products of those before. Numbers fill memory's lanes
  // without: so they took 7 % longer.
  constexpr bool kAhead = sizeof(Source) == 1;
  TimeRow<Source> top, bottom, nextTop, nextBottom;
  if constexpr (kAhead) {
    time_load(nextTop, q, p.q.row, g, p.seqQ);
    time_load(nextBottom, q, p.q.row, g + 8, p.seqQ);
  }
  const float scale = p.scale * scales.scores * kLog2e;

#pragma unroll 1
  for (int m = 0; m < (p.seqQ + 15) / 16; ++m) {
    if constexpr (kAhead) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        top[half] = nextTop[half];
        bottom[half] = nextBottom[half];
      }
      time_load(nextTop, q, p.q.row, 16 * m + g + 16, p.seqQ);
      time_load(nextBottom, q, p.q.row, 16 * m + g + 24, p.seqQ);
    } else {
      time_load(top, q, p.q.row, 16 * m + g, p.seqQ);
      time_load(bottom, q, p.q.row, 16 * m + g + 8, p.seqQ);
    }
    float scores[kBlocks][4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t above[4], below[4];
      time_pairs(above, top[half]);
      time_pairs(below, bottom[half]);
#pragma unroll
      for (int n = 0; n < kBlocks; ++n) {
        uint32_t key[4];
        time_pairs(key, keys[n][half]);
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          const uint32_t a[4] = {above[2 * step], below[2 * step], above[2 * step + 1], below[2 * step + 1]};
          const uint32_t b[2] = {key[2 * step], key[2 * step + 1]};
          ptx::mma_16816<T>(scores[n], a, b);
        }
      }
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
      for (int step = 0; step < kBlocks / 2; ++step) {
        const float* s0 = scores[2 * step];
        const float* s1 = scores[2 * step + 1];
        const uint32_t a[4] = {pack2<T>(s0[0], s0[1]), pack2<T>(s0[2], s0[3]), pack2<T>(s1[0], s1[1]), pack2<T>(s1[2], s1[3])};
        uint32_t first[4], second[4];
        time_pairs(first, values[2 * step][half]);
        time_pairs(second, values[2 * step + 1][half]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const uint32_t b[2] = {ptx::movmatrix_transposed(first[i]), ptx::movmatrix_transposed(second[i])};
          ptx::mma_16816<T>(out[i], a, b);
        }
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
