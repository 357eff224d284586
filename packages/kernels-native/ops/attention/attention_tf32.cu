// attention in float32 on tensor cores, sm_80 and later: o = softmax(scale · q · kᵀ + mask) · v per head, each product split
// as in device/matmul_tf32.cuh, with the error of float32. Masks, causal, packed sequences, log-sum-exp, any row stride.
//
// A block of eight warps owns kRows queries and all channels of one head. For each tile of 128 keys:
//   1. scores: q and k stream through the ring in stages of 16 channels; a warp owns kScoreRowBlocks x kScoreCols blocks
//   2. scores go to shared memory; the first stages of v are on their way
//   3. scale, mask, softmax: kLanes threads to a row keep its maximum and sum; rows of outputs get their factor through shared memory
//   4. values: v streams through the same ring; a warp owns kRowBlocks x kCols blocks of the outputs, in registers
// q is read again for each tile of keys: that is a fifth of what a tile reads, and leaves shared memory small enough for
// every architecture (93 KiB for heads of 512).
//
// Rows of a block of heads of 512: 80, so that the 9216 rows of a 1024x576 picture are 116 blocks, one wave on an H200.
// Symbols: attention_tf32x3_d<dim>.
#include "../../device/attention_work.cuh"
#include "../../device/kernel.cuh"
#include "../../device/matmul_tf32.cuh"
#include "attention_params.h"
#include "attention_tf32.h"

using namespace vd::device;

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)

namespace {

/** kOut: head dim, padded; kScoreWarpsM, kWarpsM: how many warps share the rows of scores and outputs. */
template <int kOut_, int kScoreWarpsM_, int kWarpsM_> struct Config {
  static constexpr Tf32AttentionShape kShape = tf32_attention_shape(kOut_);
  static constexpr int kOut = kOut_, kRows = kShape.rows, kKeys = kTf32AttentionKeys, kValueKeys = kShape.valueKeys;
  static constexpr int kStages = kTf32AttentionStages;
  static constexpr int kScoreWarpsM = kScoreWarpsM_, kScoreWarpsN = 8 / kScoreWarpsM;
  static constexpr int kScoreRowBlocks = kRows / 16 / kScoreWarpsM, kScoreCols = kKeys / 8 / kScoreWarpsN;
  static constexpr int kWarpsM = kWarpsM_, kWarpsN = 8 / kWarpsM;
  static constexpr int kRowBlocks = kRows / 16 / kWarpsM, kCols = kOut / 8 / kWarpsN;
  static constexpr int kLanes = kRows > 64 ? 2 : 4;  // threads to a row of the softmax
  static constexpr int kPitch = kShape.pitch, kPitchV = kShape.pitchV;  // floats
  static constexpr int kStageBytes = (kRows + kKeys) * 64, kValueStageBytes = kValueKeys * kPitchV * 4;
  static_assert(kScoreRowBlocks * kScoreWarpsM * 16 == kRows && kRowBlocks * kWarpsM * 16 == kRows, "warps share rows evenly");
  static_assert(kPitchV % 16 == 8, "four rows of v lie in different banks");
  static_assert(kCols % 4 == 0 || kCols < 4, "outputs are multiplied four blocks of columns at a time");
};

/** What a block works on, in shared memory: registers are for scores and outputs. */
struct Block {
  Work work;
  int end;  // of the keys that some row sees
  const float* q;
  const float* k;
  const float* v;
};

static_assert(sizeof(Block) <= kTf32AttentionStaticBytes, "the planner adds it to the dynamic part");

struct Shared {
  uint32_t ring;
  float* scores;   // [kRows, kPitch]
  float* factors;  // [kRows]: what outputs are multiplied with
};

/** A value from shared memory, read anew each time, which keeps it out of registers meanwhile. */
template <class T> __device__ __forceinline__ T fetch(const T& shared) {
  static_assert(sizeof(T) % 4 == 0);
  union {
    T value;
    uint32_t words[sizeof(T) / 4];
  } u;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) u.words[i] = ptx::load_shared4(shared_address(&shared) + 4 * i);
  return u.value;
}

/** Starts copying channels [c0, c0 + 4 kChunks) of rows [row0, row0 + kCount), zeros outside, to slot(row, chunk). */
template <int kCount, int kChunks, class Slot>
__device__ __forceinline__ void load_rows(const AttentionMmaParams& p, const float* base, int64_t stride, int row0, int rowEnd, int c0,
                                          Slot slot) {
#pragma unroll
  for (int i = threadIdx.x; i < kCount * kChunks; i += kTf32AttentionThreads) {
    const int row = i / kChunks, chunk = i % kChunks, c = c0 + chunk * 4;
    const bool inside = row0 + row < rowEnd && c < p.dim;
    const float* source = inside ? base + (row0 + row) * stride + c : base;
    if (p.vector) {
      ptx::copy16(slot(row, chunk), source, inside);
    } else {
      float v[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] = inside && c + j < p.dim ? source[j] : 0.0f;
      ptx::store_shared16(slot(row, chunk), pack_chunk<float>(v));
    }
  }
}

/** Starts copying 16 channels of the block's queries and of a tile's keys to a stage. */
template <class C>
__device__ __forceinline__ void load_depth(const AttentionMmaParams& p, const Block& b, uint32_t stage, int key0, int c0) {
  const uint32_t keys = stage + C::kRows * 64;
  load_rows<C::kRows, 4>(p, fetch(b.q), p.q.row, fetch(b.work.row0), fetch(b.work.rowEnd), c0,
                         [&](int row, int chunk) { return chunk_slot(stage, row * 4 + chunk); });
  load_rows<C::kKeys, 4>(p, fetch(b.k), p.k.row, key0, fetch(b.work.keyEnd), c0,
                         [&](int row, int chunk) { return chunk_slot(keys, row * 4 + chunk); });
}

/** Starts copying values of kValueKeys keys to a stage. */
template <class C> __device__ __forceinline__ void load_values(const AttentionMmaParams& p, const Block& b, uint32_t stage, int key0) {
  load_rows<C::kValueKeys, C::kOut / 4>(p, fetch(b.v), p.v.row, key0, fetch(b.work.keyEnd), 0,
                                        [&](int row, int chunk) { return stage + row * (C::kPitchV * 4) + chunk * 16; });
}

/** Scores of one tile of keys to shared memory. */
template <class C>
__device__ __forceinline__ void store_scores(const Shared& s, const float (&acc)[C::kScoreRowBlocks][C::kScoreCols][4], int row0,
                                             int col0) {
  const int lane = threadIdx.x & 31;
  float* at = s.scores + (row0 + lane / 4) * C::kPitch + col0 + 2 * (lane & 3);
#pragma unroll
  for (int m = 0; m < C::kScoreRowBlocks; ++m)
#pragma unroll
    for (int n = 0; n < C::kScoreCols; ++n) {
      *reinterpret_cast<float2*>(at + 16 * m * C::kPitch + 8 * n) = make_float2(acc[m][n][0], acc[m][n][1]);
      *reinterpret_cast<float2*>(at + (16 * m + 8) * C::kPitch + 8 * n) = make_float2(acc[m][n][2], acc[m][n][3]);
    }
}

struct SoftmaxState {
  float max = -INFINITY, sum = 0.0f;  // sum: of this thread's keys
};

/** Scale and mask for a thread's keys of a row, where some pair is not allowed or has a summand of its own. */
template <class C> __device__ __forceinline__ void mask_scores(const AttentionMmaParams& p, const Work& w, float4* at, int row, int key) {
#pragma unroll 1
  for (int i = 0; i < C::kKeys / 4; i += C::kLanes) {
    float4 v = at[i];
    v.x = masked_score(p, w, v.x, row, key + 4 * i);
    v.y = masked_score(p, w, v.y, row, key + 4 * i + 1);
    v.z = masked_score(p, w, v.z, row, key + 4 * i + 2);
    v.w = masked_score(p, w, v.w, row, key + 4 * i + 3);
    at[i] = v;
  }
}

/** Scores become probabilities; factors get what earlier outputs are multiplied with. */
template <class C>
__device__ __forceinline__ void softmax_tile(const AttentionMmaParams& p, const Work& w, const Shared& s, SoftmaxState& state, int key0) {
  const int row = threadIdx.x / C::kLanes, lane = threadIdx.x % C::kLanes;
  if (row >= C::kRows) return;  // whole warps: 32 threads are 8 or 16 rows
  float4* at = reinterpret_cast<float4*>(s.scores + row * C::kPitch) + lane;
  const bool plain = !p.mask && !p.causal && key0 + C::kKeys <= w.keyEnd;
  if (!plain) mask_scores<C>(p, w, at, w.row0 + row, key0 + 4 * lane);
  const float scale = plain ? p.scale * kLog2e : 1.0f;
  float best = state.max;
#pragma unroll 1
  for (int i = 0; i < C::kKeys / 4; i += C::kLanes) {
    const float4 v = at[i];
    best = fmaxf(best, fmaxf(fmaxf(v.x * scale, v.y * scale), fmaxf(v.z * scale, v.w * scale)));
  }
#pragma unroll
  for (int step = 1; step < C::kLanes; step <<= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  const float offset = best == -INFINITY ? 0.0f : best;  // no key so far: every probability is 0
  const float factor = exp2f(state.max - offset);
  float sum = state.sum * factor;
#pragma unroll 1
  for (int i = 0; i < C::kKeys / 4; i += C::kLanes) {
    float4 v = at[i];
    v = make_float4(exp2f(v.x * scale - offset), exp2f(v.y * scale - offset), exp2f(v.z * scale - offset), exp2f(v.w * scale - offset));
    sum += (v.x + v.y) + (v.z + v.w);
    at[i] = v;
  }
  state = {best, sum};
  if (lane == 0) s.factors[row] = factor;
}

/** out *= factors, row by row. */
template <class C> __device__ __forceinline__ void scale_rows(const Shared& s, float (&out)[C::kRowBlocks][C::kCols][4], int row0) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int m = 0; m < C::kRowBlocks; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float factor = s.factors[row0 + 16 * m + 8 * r + lane / 4];
#pragma unroll
      for (int n = 0; n < C::kCols; ++n) {
        out[m][n][2 * r] *= factor;
        out[m][n][2 * r + 1] *= factor;
      }
    }
}

/** out += probabilities · v for the kValueKeys keys of one stage; they are columns key0.. of the tile. */
template <class C>
__device__ __forceinline__ void add_values(float (&out)[C::kRowBlocks][C::kCols][4], uint32_t probabilities, uint32_t v, int key0, int row0,
                                           int col0) {
  constexpr int kGroup = C::kCols < 4 ? C::kCols : 4;
  const int lane = threadIdx.x & 31;
#pragma unroll(C::kValueKeys > 8 ? 1 : 2)
  for (int k = 0; k < C::kValueKeys; k += 8) {
    const uint32_t rows = probabilities + ((row0 + (lane & 15)) * C::kPitch + key0 + k + (lane >> 4) * 4) * 4;
    const uint32_t values = v + ((k + (lane & 3)) * C::kPitchV + col0 + lane / 4) * 4;
#pragma unroll
    for (int group = 0; group < C::kCols; group += kGroup) {
      Tf32Columns<kGroup> columns;
#pragma unroll
      for (int n = 0; n < kGroup; ++n) {
        const uint32_t at = values + (group + n) * 32;
        columns.template set<false>(n, ptx::load_shared4(at), ptx::load_shared4(at + 4 * C::kPitchV * 4));
      }
#pragma unroll
      for (int m = 0; m < C::kRowBlocks; ++m) {
        uint32_t fragA[4];
        ptx::ldmatrix_x4(fragA, rows + m * 16 * C::kPitch * 4);
        tf32_products<false>(&out[m][group], fragA, columns);
      }
    }
  }
}

/** Divides by the sums and stores outputs and log-sum-exp. */
template <class C>
__device__ __forceinline__ void store_rows(const AttentionMmaParams& p, const Work& w, const Shared& s, const SoftmaxState& state,
                                           float (&out)[C::kRowBlocks][C::kCols][4], int row0, int col0) {
  float sum = state.sum;
#pragma unroll
  for (int step = 1; step < C::kLanes; step <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const int own = threadIdx.x / C::kLanes;
  if (own < C::kRows && threadIdx.x % C::kLanes == 0) {
    s.factors[own] = sum > 0.0f ? 1.0f / sum : 0.0f;
    if (w.row0 + own < w.rowEnd) store_lse(p, w, w.row0 + own, state.max, sum);
  }
  __syncthreads();
  scale_rows<C>(s, out, row0);
  const int lane = threadIdx.x & 31;
  float* y = static_cast<float*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim);
#pragma unroll
  for (int m = 0; m < C::kRowBlocks; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = w.row0 + row0 + 16 * m + 8 * r + lane / 4;
      if (row >= w.rowEnd) continue;
#pragma unroll
      for (int n = 0; n < C::kCols; ++n) {
        const int c = col0 + 8 * n + 2 * (lane & 3);
        float* at = y + row * p.y.row + c;
        if (p.vector) {
          if (c < p.dim) *reinterpret_cast<float2*>(at) = make_float2(out[m][n][2 * r], out[m][n][2 * r + 1]);
        } else {
          if (c < p.dim) at[0] = out[m][n][2 * r];
          if (c + 1 < p.dim) at[1] = out[m][n][2 * r + 1];
        }
      }
    }
}

/** First row and column of a warp's part of a grid of warps. */
template <int kWarpsN> __device__ __forceinline__ int2 warp_origin(int rowsPerWarp, int colsPerWarp) {
  const int warp = threadIdx.x / 32;
  return make_int2(warp / kWarpsN * rowsPerWarp, warp % kWarpsN * colsPerWarp);
}

/** Finds the block's work and shares it; false when there is none. */
template <class C> __device__ __forceinline__ bool share_work(const AttentionMmaParams& p, Block& b) {
  Work w;
  if (!find_work(p, C::kRows, &w)) return false;
  if (threadIdx.x == 0) {
    b.work = w;
    b.end = p.causal ? min(w.keyEnd, w.key0 + min(w.row0 + C::kRows, w.rowEnd) - w.firstRow) : w.keyEnd;
    b.q = static_cast<const float*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
    b.k = static_cast<const float*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
    b.v = static_cast<const float*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  }
  __syncthreads();
  return true;
}

template <class C> __device__ __forceinline__ void attention_tf32(const AttentionMmaParams& p) {
  extern __shared__ __align__(128) uint8_t dynamicShared[];
  __shared__ Block b;
  const Shared s = {shared_address(dynamicShared), reinterpret_cast<float*>(dynamicShared + C::kShape.ringBytes),
                    reinterpret_cast<float*>(dynamicShared + C::kShape.ringBytes) + C::kRows * C::kPitch};
  if (!share_work<C>(p, b)) return;
  const int2 scoreAt = warp_origin<C::kScoreWarpsN>(16 * C::kScoreRowBlocks, 8 * C::kScoreCols);
  const int2 outAt = warp_origin<C::kWarpsN>(16 * C::kRowBlocks, 8 * C::kCols);
  const int numDepthSteps = (p.dim + 15) / 16;

  SoftmaxState state;
  float out[C::kRowBlocks][C::kCols][4] = {};
#pragma unroll 1
  for (int key0 = fetch(b.work.key0); key0 < fetch(b.end); key0 += C::kKeys) {
    const auto depth = [&](int step, int stage) { load_depth<C>(p, b, s.ring + stage * C::kStageBytes, key0, step * 16); };
    const auto values = [&](int step, int stage) {
      load_values<C>(p, b, s.ring + stage * C::kValueStageBytes, key0 + step * C::kValueKeys);
    };
    const int numValueSteps = (min(C::kKeys, fetch(b.end) - key0) + C::kValueKeys - 1) / C::kValueKeys;
    {
      float scores[C::kScoreRowBlocks][C::kScoreCols][4] = {};
      ring_start<C::kStages>(numDepthSteps, depth);
      ring_run<C::kStages>(numDepthSteps, depth, [&](int, int stage) {
        const uint32_t a = s.ring + stage * C::kStageBytes;
        tf32_stage<false>(scores, a, a + C::kRows * 64, scoreAt.x, scoreAt.y);
      });
      ring_start<C::kStages>(numValueSteps, values);
      store_scores<C>(s, scores, scoreAt.x, scoreAt.y);
    }
    __syncthreads();
    softmax_tile<C>(p, fetch(b.work), s, state, key0);
    __syncthreads();
    scale_rows<C>(s, out, outAt.x);
    ring_run<C::kStages>(numValueSteps, values, [&](int step, int stage) {
      add_values<C>(out, shared_address(s.scores), s.ring + stage * C::kValueStageBytes, step * C::kValueKeys, outAt.x, outAt.y);
    });
  }
  store_rows<C>(p, fetch(b.work), s, state, out, outAt.x, outAt.y);
}

}  // namespace

#define VD_TF32(dim, scoreWarpsM, warpsM, minBlocks) \
  VD_KERNEL(attention_tf32x3_d##dim, AttentionMmaParams, kTf32AttentionThreads, minBlocks, attention_tf32<Config<dim, scoreWarpsM, warpsM>>)
VD_TF32(64, 2, 4, 2)
VD_TF32(128, 2, 2, 1)
VD_TF32(256, 2, 2, 1)
VD_TF32(512, 1, 1, 1)

#endif
