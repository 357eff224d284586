// attention on every architecture: o = softmax(scale · q · kᵀ + mask) · v per head.
//
// attention_mma: a warp owns 16 query rows; K and V tiles in shared memory, scores and outputs in registers, online
// softmax; masks, causal, packed sequences, log-sum-exp, any head dim up to kDim (zero-padded), any row stride.
// attention_time: a warp owns the frames of one pixel and head; everything lives in registers (head dim 64).
// attention_plain: float32 products in shared memory, 32 rows a block; whatever is left.
// Log (H200, f16): attention_time b18432 h5 s25 294 us (95 % of the copy ceiling), b4608 h10 152 us, b1152 h20 81 us;
// attention_mma clip b1 h16 s257 d80 18.3 us; as the fallback for b50 h5 s9216 d64 39.7 ms.
// Symbols: attention_mma_<dtype>_d<dim>, attention_time_<dtype>_f<frames>, attention_plain_<dtype>_d<dim>.
#include "../../device/kernel.cuh"
#include "../../device/ptx/mma.cuh"
#include "attention_work.cuh"

using namespace vd::device;

namespace {

// ---------------------------------------------------------------- tensor cores

/** Element type, head dim of scores (padded), output channels of a block, keys of a tile, warps. */
template <class T_, int kDim_, int kKeys_, int kWarps_> struct FlashConfig {
  using T = T_;
  static constexpr int kDim = kDim_, kKeys = kKeys_, kWarps = kWarps_;
  static constexpr int kOut = kDim > 256 ? 256 : kDim;  // wider heads take one block per 256 output channels
  static constexpr int kRows = 16 * kWarps, kThreads = 32 * kWarps;
  static constexpr int kPitch = kDim * 2 + 16, kPitchV = kOut * 2 + 16;  // odd numbers of 16 bytes: no bank conflicts
  static_assert(kDim % 16 == 0 && kKeys % 16 == 0, "products have depth 16");
};

/** Copies rows [row0, row0 + kCount) of channels [c0, c0 + kWidth) to shared memory, zeros outside. */
template <class Config, int kCount, int kWidth>
__device__ __forceinline__ void load_rows(const AttentionMmaParams& p, uint32_t dst, const typename Config::T* base, int64_t stride,
                                          int row0, int rowEnd, int c0) {
  using T = typename Config::T;
  constexpr int kChunks = kWidth / 8, kPitch = kWidth * 2 + 16;
  for (int i = threadIdx.x; i < kCount * kChunks; i += Config::kThreads) {
    const int row = i / kChunks, chunk = i % kChunks, c = c0 + chunk * 8;
    const bool inside = row0 + row < rowEnd && c < p.dim;
    const T* source = base + (row0 + row) * stride + c;
    const uint32_t at = dst + row * kPitch + chunk * 16;
    if (p.vector) {
      ptx::copy16(at, inside ? source : base, inside);
    } else {
      float v[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = inside && c + j < p.dim ? to_float(source[j]) : 0.0f;
      ptx::store_shared16(at, pack8<T>(v));
    }
  }
}

/** scores[16 rows, kKeys] of this warp. */
template <class Config>
__device__ __forceinline__ void flash_scores(float (&scores)[Config::kKeys / 8][4], uint32_t q, uint32_t k) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = 0.0f;
#pragma unroll(Config::kDim > 128 ? 2 : 8)
  for (int step = 0; step < Config::kDim / 16; ++step) {
    uint32_t a[4];
    ptx::ldmatrix_x4(a, q + (lane & 15) * Config::kPitch + step * 32 + (lane >> 4) * 16);
#pragma unroll
    for (int pair = 0; pair < Config::kKeys / 16; ++pair) {
      uint32_t r[4];
      ptx::ldmatrix_x4(r, k + (pair * 16 + (lane & 7) + (lane >> 4) * 8) * Config::kPitch + step * 32 + (lane >> 3 & 1) * 16);
      const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
      ptx::mma_16816<typename Config::T>(scores[2 * pair], a, b0);
      ptx::mma_16816<typename Config::T>(scores[2 * pair + 1], a, b1);
    }
  }
}

/** out[16 rows, kOut] += P · V. */
template <class Config>
__device__ __forceinline__ void flash_values(float (&out)[Config::kOut / 8][4], const float (&scores)[Config::kKeys / 8][4], uint32_t v) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int step = 0; step < Config::kKeys / 16; ++step) {
    const float* s0 = scores[2 * step];
    const float* s1 = scores[2 * step + 1];
    const uint32_t a[4] = {pack2<T>(s0[0], s0[1]), pack2<T>(s0[2], s0[3]), pack2<T>(s1[0], s1[1]), pack2<T>(s1[2], s1[3])};
#pragma unroll
    for (int pair = 0; pair < Config::kOut / 16; ++pair) {
      uint32_t r[4];
      ptx::ldmatrix_x4_transposed(r, v + (step * 16 + (lane & 15)) * Config::kPitchV + pair * 32 + (lane >> 4) * 16);
      const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
      ptx::mma_16816<T>(out[2 * pair], a, b0);
      ptx::mma_16816<T>(out[2 * pair + 1], a, b1);
    }
  }
}

struct FlashState {
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
};

/** Scale, mask, running maximum; scores become probabilities and outputs are rescaled. */
template <class Config>
__device__ __forceinline__ void flash_softmax(const AttentionMmaParams& p, const Work& w, FlashState& state,
                                              float (&scores)[Config::kKeys / 8][4], float (&out)[Config::kOut / 8][4], int row, int key0) {
  const int lane = threadIdx.x & 3;
  const bool plain = !p.mask && !p.causal && key0 + Config::kKeys <= w.keyEnd;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float best = state.max[r];
#pragma unroll
    for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& s = scores[n][2 * r + i];
        s = plain ? s * (p.scale * kLog2e) : masked_score(p, w, s, row + 8 * r, key0 + 8 * n + 2 * lane + i);
        best = fmaxf(best, s);
      }
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
    const float offset = best == -INFINITY ? 0.0f : best;  // no key so far: every probability is 0
    const float factor = ptx::exp2_approx(state.max[r] - offset);
    state.max[r] = best;
    float sum = state.sum[r] * factor;
#pragma unroll
    for (int n = 0; n < Config::kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& s = scores[n][2 * r + i];
        s = ptx::exp2_approx(s - offset);
        sum += s;
      }
    state.sum[r] = sum;
#pragma unroll
    for (int n = 0; n < Config::kOut / 8; ++n) {
      out[n][2 * r] *= factor;
      out[n][2 * r + 1] *= factor;
    }
  }
}

template <class Config>
__device__ __forceinline__ void flash_store(const AttentionMmaParams& p, const Work& w, FlashState& state,
                                            float (&out)[Config::kOut / 8][4], int row, int c0) {
  using T = typename Config::T;
  const int lane = threadIdx.x & 3;
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (row + 8 * r >= w.rowEnd) continue;
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    T* at = y + (row + 8 * r) * p.y.row;
#pragma unroll
    for (int n = 0; n < Config::kOut / 8; ++n) {
      const int c = c0 + 8 * n + 2 * lane;
      const float a = out[n][2 * r] * inverse, b = out[n][2 * r + 1] * inverse;
      if (p.vector) {
        if (c < p.dim) *reinterpret_cast<uint32_t*>(at + c) = pack2<T>(a, b);
      } else {
        if (c < p.dim) at[c] = from_float<T>(a);
        if (c + 1 < p.dim) at[c + 1] = from_float<T>(b);
      }
    }
    if (lane == 0 && c0 == 0) store_lse(p, w, row + 8 * r, state.max[r], sum);
  }
}

template <class Config> __device__ __forceinline__ void attention_mma(const AttentionMmaParams& p) {
  using T = typename Config::T;
  extern __shared__ __align__(16) uint8_t dynamicShared[];
  const uint32_t q = shared_address(dynamicShared), k = q + Config::kRows * Config::kPitch, v = k + Config::kKeys * Config::kPitch;
  Work w;
  if (!find_work(p, Config::kRows, &w)) return;
  const int c0 = blockIdx.y * Config::kOut;
  const T* qBase = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
  const T* kBase = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
  const T* vBase = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  const int warp = threadIdx.x / 32, row = w.row0 + warp * 16 + (threadIdx.x & 31) / 4;
  int keyEnd = w.keyEnd;
  if (p.causal) keyEnd = min(keyEnd, w.key0 + min(w.row0 + Config::kRows, w.rowEnd) - w.firstRow);

  load_rows<Config, Config::kRows, Config::kDim>(p, q, qBase, p.q.row, w.row0, w.rowEnd, 0);
  if (w.key0 < keyEnd) load_rows<Config, Config::kKeys, Config::kDim>(p, k, kBase, p.k.row, w.key0, w.keyEnd, 0);
  ptx::copy_commit();
  FlashState state;
  float out[Config::kOut / 8][4] = {};
  for (int key0 = w.key0; key0 < keyEnd; key0 += Config::kKeys) {
    load_rows<Config, Config::kKeys, Config::kOut>(p, v, vBase, p.v.row, key0, w.keyEnd, c0);
    ptx::copy_commit();
    ptx::copy_wait<1>();
    __syncthreads();  // K has arrived
    float scores[Config::kKeys / 8][4];
    flash_scores<Config>(scores, q + warp * 16 * Config::kPitch, k);
    __syncthreads();  // K may be overwritten
    if (key0 + Config::kKeys < keyEnd)
      load_rows<Config, Config::kKeys, Config::kDim>(p, k, kBase, p.k.row, key0 + Config::kKeys, w.keyEnd, 0);
    ptx::copy_commit();
    flash_softmax<Config>(p, w, state, scores, out, row, key0);
    ptx::copy_wait<1>();
    __syncthreads();  // V has arrived
    flash_values<Config>(out, scores, v);
    __syncthreads();  // V may be overwritten
  }
  ptx::copy_wait<0>();
  flash_store<Config>(p, w, state, out, row, c0);
}

// ---------------------------------------------------------------- short sequences over frames

/** Eight channels 8t.. and 32 + 8t.. (t: lane of the quad) of row `row`, zeros beyond the sequence. A permutation of
 *  the head's channels that is the same for q and k, so 16-byte loads feed the products directly. */
template <class T> __device__ __forceinline__ void load_fragment(uint32_t (&r)[8], const T* base, int64_t stride, int row, int rows) {
  uint4 a = make_uint4(0, 0, 0, 0), b = a;
  if (row < rows) {
    const T* at = base + row * stride + (threadIdx.x & 3) * 8;
    a = *reinterpret_cast<const uint4*>(at);
    b = *reinterpret_cast<const uint4*>(at + 32);
  }
  r[0] = a.x; r[1] = a.y; r[2] = a.z; r[3] = a.w;
  r[4] = b.x; r[5] = b.y; r[6] = b.z; r[7] = b.w;
}

/** One warp: attention over up to kFrames frames of one pixel and head, head dim 64. */
template <class T, int kFrames> __device__ __forceinline__ void attention_time(const AttentionMmaParams& p) {
  constexpr int kBlocks = kFrames / 8;
  const int lane = threadIdx.x & 31, g = lane / 4, t = lane & 3;
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (unit >= static_cast<int64_t>(p.numHeadsFrames)) return;
  const int head = static_cast<int>(unit % p.heads);
  const int64_t pixel = unit / p.heads;
  const int frame = static_cast<int>(pixel % p.frames), batch = static_cast<int>(pixel / p.frames);
  const T* q = static_cast<const T*>(p.q.data) + sequence_base(p.q, batch, frame, head, 64);
  const T* k = static_cast<const T*>(p.k.data) + sequence_base(p.k, batch, frame, head, 64);
  const T* v = static_cast<const T*>(p.v.data) + sequence_base(p.v, batch, frame, head, 64);
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, batch, frame, head, 64);
  uint32_t keys[kBlocks][8], values[kBlocks][8];
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) load_fragment(keys[n], k, p.k.row, 8 * n + g, p.seqK);
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) load_fragment(values[n], v, p.v.row, 8 * n + g, p.seqK);
  const float scale = p.scale * kLog2e;

#pragma unroll 1
  for (int m = 0; m < (p.seqQ + 15) / 16; ++m) {
    uint32_t top[8], bottom[8];
    load_fragment(top, q, p.q.row, 16 * m + g, p.seqQ);
    load_fragment(bottom, q, p.q.row, 16 * m + g + 8, p.seqQ);
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
      inverse[r] = 1.0f / sum;
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

// ---------------------------------------------------------------- plain float32

/** 32 rows a block, eight threads to a row; head dim up to 32 · kParts. */
template <class T, int kParts> __device__ __forceinline__ void attention_plain(const AttentionMmaParams& p) {
  __shared__ float a[32][33], b[32][33], probabilities[32][33];
  Work w;
  if (!find_work(p, 32, &w)) return;
  const int r = threadIdx.x / 8, j = threadIdx.x % 8, row = w.row0 + r;
  const T* q = static_cast<const T*>(p.q.data) + sequence_base(p.q, w.batch, w.frame, w.head, p.dim);
  const T* k = static_cast<const T*>(p.k.data) + sequence_base(p.k, w.batch, w.frame, w.head, p.dim);
  const T* v = static_cast<const T*>(p.v.data) + sequence_base(p.v, w.batch, w.frame, w.head, p.dim);
  float max = -INFINITY, sum = 0.0f, out[kParts][4] = {};
  const auto load = [&](float (&tile)[32][33], const T* base, int64_t stride, int row0, int rowEnd, int c0) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      const int tr = i / 32, c = i % 32;
      tile[tr][c] = row0 + tr < rowEnd && c0 + c < p.dim ? to_float(base[(row0 + tr) * stride + c0 + c]) : 0.0f;
    }
  };
  for (int key0 = w.key0; key0 < w.keyEnd; key0 += 32) {
    float scores[4] = {};
#pragma unroll 1
    for (int c0 = 0; c0 < p.dim; c0 += 32) {
      __syncthreads();
      load(a, q, p.q.row, w.row0, w.rowEnd, c0);
      load(b, k, p.k.row, key0, w.keyEnd, c0);
      __syncthreads();
#pragma unroll 8
      for (int c = 0; c < 32; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[i] = fmaf(a[r][c], b[j + 8 * i][c], scores[i]);
    }
    float best = max;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[i] = masked_score(p, w, scores[i], row, key0 + j + 8 * i);
      best = fmaxf(best, scores[i]);
    }
    for (int o = 1; o < 8; o <<= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, o));
    const float offset = best == -INFINITY ? 0.0f : best, factor = exp2f(max - offset);
    max = best;
    sum *= factor;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float e = exp2f(scores[i] - offset);
      sum += e;
      probabilities[r][j + 8 * i] = e;
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (part * 32 < p.dim) {
        __syncthreads();
        load(a, v, p.v.row, key0, w.keyEnd, part * 32);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float o = out[part][i] * factor;
#pragma unroll 8
          for (int key = 0; key < 32; ++key) o = fmaf(probabilities[r][key], a[key][j + 8 * i], o);
          out[part][i] = o;
        }
      }
    }
  }
  for (int o = 1; o < 8; o <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if (row >= w.rowEnd) return;
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + sequence_base(p.y, w.batch, w.frame, w.head, p.dim) + row * p.y.row;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (part * 32 + j + 8 * i < p.dim) y[part * 32 + j + 8 * i] = from_float<T>(out[part][i] * inverse);
  if (j == 0) store_lse(p, w, row, max, sum);
}

}  // namespace

#define VD_FLASH(type, name, dim, keys, warps) \
  VD_KERNEL(attention_mma_##name##_d##dim, AttentionMmaParams, 32 * warps, 1, attention_mma<FlashConfig<type, dim, keys, warps>>)
#define VD_FLASH_ALL(type, name)                                                                     \
  VD_FLASH(type, name, 32, 64, 4)                                                                    \
  VD_FLASH(type, name, 64, 64, 4)                                                                    \
  VD_FLASH(type, name, 80, 64, 4)                                                                    \
  VD_FLASH(type, name, 128, 64, 4)                                                                   \
  VD_FLASH(type, name, 160, 32, 4)                                                                   \
  VD_FLASH(type, name, 256, 32, 2)                                                                   \
  VD_FLASH(type, name, 512, 32, 2)                                                                   \
  VD_KERNEL(attention_time_##name##_f16, AttentionMmaParams, 128, 4, attention_time<type, 16>)       \
  VD_KERNEL(attention_time_##name##_f32, AttentionMmaParams, 128, 3, attention_time<type, 32>)
#define VD_PLAIN(type, name, dim, parts) \
  VD_KERNEL(attention_plain_##name##_d##dim, AttentionMmaParams, 256, 1, attention_plain<type, parts>)

VD_FLASH_ALL(__half, f16)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_FLASH_ALL(__nv_bfloat16, bf16)
#endif
VD_PLAIN(float, f32, 64, 2)
VD_PLAIN(float, f32, 512, 16)
VD_PLAIN(__half, f16, 512, 16)
VD_PLAIN(__nv_bfloat16, bf16, 512, 16)
