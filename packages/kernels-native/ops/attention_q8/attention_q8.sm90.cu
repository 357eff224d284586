// attention_q8 on Hopper, heads of 64 channels, values in float8 too: o = softmax(scale · q · kᵀ) · v.
//
// Persistent blocks of one producer and two or three consumer warpgroups, 64 queries of a head to each. The order of work is that of
// attention.sm90.cu: scores of the next block of 128 keys are issued before the probabilities of this one are multiplied with the values,
// so that the softmax overlaps both products. What 8 bits change:
//   - wgmma reads float8 only with its reduction contiguous, so values lie transposed, keys of each 16 in the order in which a thread
//     holds their probabilities: scores become the A operand without an exchange (attention_q8_codes.cuh).
//   - Scores of float8 are sums of float16: codes of queries and keys are small enough for the largest (kQ8ScoreShrink), and what such a
//     sum is off by is far less than what rounding its operands did. Two scores share an instruction from there on.
//   - Probabilities are codes at once: the logarithm of a probability, rounded, see codes_of. They are relative to 2^-5 of the running
//     maximum, which moves when a code is next to the largest, so that they use float8's range of 15 powers of two, and their sum, a
//     product with ones, is that of the rounded ones.
//   - Outputs of four blocks are added up in float32 (tensor cores keep about 14 bits of a sum).
// Symbols: attention_q8_sm90_<type of q and k>_<dtype>; dtype: of the result, which attention_f8 may leave as codes.
#include "../../device/attention_q8.h"
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/math.cuh"
#include "../../device/ptx/matrix_descriptor.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/tma.cuh"
#include "../../device/ptx/uniform.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "../../device/quantized.cuh"
#include "../../device/ring_sm90.cuh"

using namespace vd::device;

namespace {

constexpr int kStages = 4, kQStages = 2;
constexpr int kKBytes = kQ8Keys * 64, kVBytes = 64 * kQ8Keys;
/** A stage of values ends in eight rows of ones. */
constexpr int kVStage = kVBytes + 8 * kQ8Keys;
/** Accumulators of 64 channels and of eight columns of ones. */
constexpr int kOutputs = 36;
/** Blocks whose outputs tensor cores add up. */
constexpr int kBlocksPerPart = 4;
/** Codes of the running maximum are those of 2^kShift; the code of 448 is the largest. */
constexpr float kShift = 5.0f;
constexpr int kLargestCode = 126;
/** 1.5 · 2^23: integers below 2^22 in size are the lowest bits of a float32 when it is added. */
constexpr float kIntegerShift = 12582912.0f;

/** What follows from the type of queries and keys. */
template <class Q> struct Roles {
  static constexpr int kConsumers = q8_queries(std::is_same_v<Q, int8_t>) / 64;
  static constexpr int kQBytes = kConsumers * 64 * 64, kThreads = (kConsumers + 1) * 128, kRegisters = kConsumers == 3 ? 160 : 240;
};

struct Shared {
  uint32_t q, k, v, qFull, qEmpty, kFull, kEmpty, vFull, vEmpty;
};

struct TileIndex {
  int q, head, frame, keyFrame;  // first query; frames counted over clips
};
template <class Q> __device__ __forceinline__ TileIndex tile_index(const AttentionQ8Params& p, int tile) {
  TileIndex t;
  t.q = tile % p.numQTiles * (Roles<Q>::kConsumers * 64);
  const int rest = tile / p.numQTiles;
  t.head = rest % p.heads;
  t.frame = rest / p.heads;
  t.keyFrame = p.keyFrames == p.frames ? t.frame : t.frame / p.frames;
  return t;
}

template <class Q> __device__ __forceinline__ void produce(const AttentionQ8Params& p, const Shared& s) {
  RingCursor<kStages> cursor;
  RingCursor<kQStages> q;
  const int numBlocks = (p.seqK + kQ8Keys - 1) / kQ8Keys;
  for (int tile = blockIdx.x; tile < p.numTiles; tile += gridDim.x) {
    constexpr int kQBytes = Roles<Q>::kQBytes;
    const TileIndex t = tile_index<Q>(p, tile);
    const uint32_t qFull = s.qFull + 8 * q.stage;
    ptx::mbarrier_wait(s.qEmpty + 8 * q.stage, q.parity ^ 1);
    ptx::mbarrier_arrive_expect_tx(qFull, kQBytes);
    ptx::tma_load_4d(s.q + q.stage * kQBytes, &p.q, qFull, t.head * 64, t.q, t.frame, 0);
    q.advance();
    for (int j = 0; j < numBlocks; ++j) {
      const uint32_t kFull = s.kFull + 8 * cursor.stage, vFull = s.vFull + 8 * cursor.stage;
      ptx::mbarrier_wait(s.kEmpty + 8 * cursor.stage, cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(kFull, kKBytes);
      ptx::tma_load_4d(s.k + cursor.stage * kKBytes, &p.k, kFull, t.head * 64, j * kQ8Keys, t.keyFrame, 0);
      ptx::mbarrier_wait(s.vEmpty + 8 * cursor.stage, cursor.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(vFull, kVBytes);
      ptx::tma_load_4d(s.v + cursor.stage * kVStage, &p.v, vFull, j * kQ8Keys, (t.keyFrame * p.heads + t.head) * 64, 0, 0);
      cursor.advance();
    }
  }
}

/** Products of 64 queries and 128 keys: integers, or float16 in pairs of neighbouring keys. */
template <class Q> using Sums = std::conditional_t<std::is_same_v<Q, int8_t>, int32_t[64], uint32_t[32]>;

/** Issues sums[64, 128] = Q · Kᵀ for this warpgroup. */
template <class Q> __device__ __forceinline__ void issue_scores(Sums<Q>& sums, uint32_t q, uint32_t k) {
  using Product = std::conditional_t<std::is_same_v<Q, int8_t>, ptx::Wgmma<Q, 128, 0>, ptx::WgmmaHalfSums<Q, 128, 0>>;
  const uint64_t a = ptx::matrix_descriptor64(q), b = ptx::matrix_descriptor64(k);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 2; ++step) Product::run(sums, a + 2 * step, b + 2 * step, step > 0);
  ptx::wgmma_commit();
}

/** Issues part[64, 72] (+)= P · [V | 1]. */
__device__ __forceinline__ void issue_values(float (&part)[kOutputs], const uint32_t (&p)[4][4], uint32_t v, bool accumulate) {
  const uint64_t b = ptx::matrix_descriptor(v);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) ptx::WgmmaRegisters<__nv_fp8_e4m3, 72, 0>::run(part, p[step], b + 2 * step, accumulate || step > 0);
  ptx::wgmma_commit();
}

__device__ __forceinline__ __half2 halves(uint32_t v) { return *reinterpret_cast<const __half2*>(&v); }
__device__ __forceinline__ uint32_t bits(__half2 v) { return *reinterpret_cast<const uint32_t*>(&v); }

/** An integer plus kIntegerShift, which costs one addition where a conversion costs eight. */
__device__ __forceinline__ float shifted(int32_t sum) { return __int_as_float(sum + __float_as_int(kIntegerShift)); }

/** Makes scores of keys from `valid` on -inf, or for integers what becomes that when it is shifted. */
__device__ __forceinline__ void mask_scores(uint32_t (&sums)[32], int valid) {
  constexpr uint32_t kFirst = 0xfc00, kSecond = 0xfc000000;
  if (valid >= kQ8Keys) return;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const int left = valid - (i / 2 * 8 + 2 * (threadIdx.x & 3));
    const uint32_t first = left > 0 ? sums[i] & 0xffff : kFirst, second = left > 1 ? sums[i] & 0xffff0000 : kSecond;
    sums[i] = first | second;
  }
}
__device__ __forceinline__ void mask_scores(int32_t (&sums)[64], int valid) {
  const int32_t lowest = __float_as_int(-INFINITY) - __float_as_int(kIntegerShift);
  if (valid >= kQ8Keys) return;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int left = valid - (i / 4 * 8 + 2 * (threadIdx.x & 3) + (i & 1));
    sums[i] = left > 0 ? sums[i] : lowest;
  }
}

/** The largest score of this thread's row r. */
__device__ __forceinline__ float largest(const uint32_t (&sums)[32], int r) {
  __half2 best = halves(sums[r]);
#pragma unroll
  for (int i = 1; i < 16; ++i) best = __hmax2(best, halves(sums[2 * i + r]));
  return fmaxf(__low2float(best), __high2float(best));
}
__device__ __forceinline__ float largest(const int32_t (&sums)[64], int r) {
  int32_t best = sums[2 * r];
#pragma unroll
  for (int i = 0; i < 16; ++i) best = max(best, max(sums[4 * i + 2 * r], sums[4 * i + 2 * r + 1]));
  return static_cast<float>(best);
}

/** What is subtracted from a row's scores in powers of two, and what makes shares of a code's range of them. */
template <class Q> struct Row;
template <> struct Row<__nv_fp8_e4m3> {
  float offset;
  __half2 shift;
};
template <> struct Row<int8_t> {
  float offset, shift;
};

constexpr float kRange = kLargestCode / 8.0f;

/** Has codes of `row` be relative to 2^offset, or to the next power whose share is a float16. */
__device__ __forceinline__ void set_offset(Row<__nv_fp8_e4m3>& row, float offset, float) {
  row.shift = __float2half2_rn(fminf(fmaxf((7.0f - offset) * (1 / kRange), -65504.0f), 65504.0f));
  row.offset = 7.0f - __low2float(row.shift) * kRange;
}
__device__ __forceinline__ void set_offset(Row<int8_t>& row, float offset, float scale) {
  row.offset = offset;
  row.shift = (7.0f - offset - kIntegerShift * scale) * (1 / kRange);
}

/** Codes of 2^(scale · score - offset) for two scores each, the lowest bytes of two float16: the integer nearest to 8 times the
 *  logarithm, from 0 to kLargestCode. Powers of two are eight equal steps then, and a code is up to 6 % off the power, about as much as
 *  the nearest code is. NaN becomes 0. */
__device__ __forceinline__ uint32_t logarithms(__half2 share) {
  return bits(__hfma2(share, __float2half2_rn(kLargestCode), __float2half2_rn(1024.0f)));
}
__device__ __forceinline__ uint32_t codes_of_pair(const uint32_t (&sums)[32], int block, int r, float, __half2 factor,
                                                  const Row<__nv_fp8_e4m3>& row) {
  return logarithms(__hfma2_sat(halves(sums[2 * block + r]), factor, row.shift));
}
__device__ __forceinline__ uint32_t codes_of_pair(const int32_t (&sums)[64], int block, int r, float factor, __half2,
                                                  const Row<int8_t>& row) {
  const int i = 4 * block + 2 * r;
  return logarithms(__floats2half2_rn(__saturatef(fmaf(shifted(sums[i]), factor, row.shift)),
                                      __saturatef(fmaf(shifted(sums[i + 1]), factor, row.shift))));
}

/** Probabilities as the A operand of four products of depth 32: a thread's scores of two blocks of 8 keys are four neighbours there.
 *  Returns whether a code of the warp is at least kLargestCode - 1. */
template <class Q>
__device__ __forceinline__ bool codes_of(uint32_t (&p)[4][4], const Sums<Q>& sums, float factor, const Row<Q> (&rows)[2]) {
  const __half2 halfFactor = __float2half2_rn(fminf(factor, 65504.0f));
  uint32_t exceeds = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int block = i / 2 * 2, r = i % 2;
    const uint32_t codes = __byte_perm(codes_of_pair(sums, block, r, factor, halfFactor, rows[r]),
                                       codes_of_pair(sums, block + 1, r, factor, halfFactor, rows[r]), 0x6420);
    p[i / 4][i % 4] = codes;
    exceeds |= codes + (129 - kLargestCode) * 0x01010101u;
  }
  return __any_sync(0xffffffffu, (exceeds & 0x80808080u) != 0);
}

/** Moves the offsets of rows to the largest scores so far. Returns what older sums are multiplied with. */
template <class Q> __device__ __forceinline__ float2 raise(Row<Q> (&rows)[2], const Sums<Q>& sums, float scale) {
  float factors[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float best = largest(sums, r);
#pragma unroll
    for (int step = 1; step <= 2; step <<= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
    const float offset = best * scale - kShift, before = rows[r].offset;
    if (offset > before) set_offset(rows[r], offset, scale);
    factors[r] = ptx::exp2_approx(before - rows[r].offset);
  }
  return make_float2(factors[0], factors[1]);
}

__device__ __forceinline__ void add_part(float (&out)[kOutputs], const float (&part)[kOutputs]) {
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) out[i] += part[i];
}

template <class T>
__device__ __forceinline__ void store_tile(const AttentionQ8Params& p, const TileIndex& t, const float (&out)[kOutputs], int rowInTile) {
  const int lane = threadIdx.x & 3;
  float valueScale = __ldg(p.vScales + (t.keyFrame * p.heads + t.head) * p.scaleStride);
  if (p.yScale != nullptr) valueScale /= __ldg(p.yScale);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float factor = valueScale / out[32 + 2 * r];  // NaN where a score was: its row has no codes but 0
    const int row = t.q + rowInTile + 8 * r;
    T* y = static_cast<T*>(p.y) + (static_cast<int64_t>(t.frame) * p.seqQ + row) * p.yPitch + t.head * 64;
#pragma unroll
    for (int group = 0; group < 2; ++group) {
      float2 v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* o = out + (group * 4 + i) * 4 + 2 * r;
        v[i] = make_float2(o[0] * factor, o[1] * factor);
      }
      transpose_quad(v, lane);
      const float eight[8] = {v[0].x, v[0].y, v[1].x, v[1].y, v[2].x, v[2].y, v[3].x, v[3].y};
      if (row < p.seqQ) store8(y + group * 32 + lane * 8, eight);
    }
  }
}

template <class Q, class T> __device__ __forceinline__ void consume(const AttentionQ8Params& p, const Shared& s, int group) {
  RingCursor<kStages> k, v;
  RingCursor<kQStages> q;
  const int numBlocks = (p.seqK + kQ8Keys - 1) / kQ8Keys;
  const int rowInTile = group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  for (int tile = blockIdx.x; tile < p.numTiles; tile += gridDim.x) {
    const TileIndex t = tile_index<Q>(p, tile);
    const float scale = p.scale * __ldg(p.qScales + (t.frame * p.heads + t.head) * p.scaleStride) *
                        __ldg(p.kScales + (t.keyFrame * p.heads + t.head) * p.scaleStride);
    const float factor = scale * (1 / kRange);
    const uint32_t queries = s.q + q.stage * Roles<Q>::kQBytes + group * 64 * 64;
    Sums<Q> sums;
    Row<Q> rows[2] = {{-INFINITY}, {-INFINITY}};
    uint32_t even[4][4], odd[4][4];
    float out[kOutputs] = {}, part[kOutputs];
    int blocks = 0;  // whose outputs `part` has
    ptx::mbarrier_wait(s.qFull + 8 * q.stage, q.parity);
    ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    issue_scores<Q>(sums, queries, s.k + k.stage * kKBytes);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
    mask_scores(sums, p.seqK);
    raise<Q>(rows, sums, scale);
    codes_of<Q>(even, sums, factor, rows);
    if (numBlocks > 1) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    // Scores of block j beside the outputs of block j - 1, whose probabilities are `now`.
    const auto step = [&](const uint32_t (&now)[4][4], uint32_t (&next)[4][4], int j) {
      issue_scores<Q>(sums, queries, s.k + k.stage * kKBytes);
      ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
      issue_values(part, now, s.v + v.stage * kVStage, blocks > 0);
      ptx::wgmma_wait<1>();
      release_stage<1>(s.kEmpty + 8 * k.stage);
      k.advance();
      mask_scores(sums, p.seqK - j * kQ8Keys);
      bool exceeds = false;
      // Always: the compiler makes codes after the wait below, not beside the products, unless they are in a branch.
      if (p.numTiles > 0) exceeds = codes_of<Q>(next, sums, factor, rows);
      if (j + 1 < numBlocks) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
      ptx::wgmma_wait<0>();
      release_stage<1>(s.vEmpty + 8 * v.stage);
      v.advance();
      if (++blocks == kBlocksPerPart) {  // the same for all warps, whose products are one
        add_part(out, part);
        blocks = 0;
      }
      if (exceeds) {
        const float2 factors = raise<Q>(rows, sums, scale);
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) {
          const float factorOfRow = i >> 1 & 1 ? factors.y : factors.x;
          out[i] *= factorOfRow;
          part[i] *= factorOfRow;
        }
        codes_of<Q>(next, sums, factor, rows);
      }
    };
    int j = 1;
    for (; j + 1 < numBlocks; j += 2) {
      step(even, odd, j);
      step(odd, even, j + 1);
    }
    if (j < numBlocks) {
      step(even, odd, j);
#pragma unroll
      for (int i = 0; i < 16; ++i) even[i / 4][i % 4] = odd[i / 4][i % 4];
    }
    release_stage<1>(s.qEmpty + 8 * q.stage);
    q.advance();
    ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
    issue_values(part, even, s.v + v.stage * kVStage, blocks > 0);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
    add_part(out, part);
    store_tile<T>(p, t, out, rowInTile);
  }
}

/** Fills the rows of ones behind each stage of values. By all threads. */
template <int kThreads> __device__ __forceinline__ void fill_ones(uint32_t v) {
  constexpr uint32_t kOnes = 0x38383838;
  constexpr int kChunks = 8 * kQ8Keys / 16;
  for (int i = threadIdx.x; i < kStages * kChunks; i += kThreads)
    ptx::store_shared16(v + i / kChunks * kVStage + kVBytes + i % kChunks * 16, make_uint4(kOnes, kOnes, kOnes, kOnes));
  ptx::fence_proxy_async();
}

template <class Q, class T> __device__ __forceinline__ void attention_q8_d64(const AttentionQ8Params& p) {
  constexpr int kConsumers = Roles<Q>::kConsumers;
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[2 * kQStages + 4 * kStages];
  Shared s;
  s.q = ptx::warp_uniform((shared_address(dynamicShared) + 1023) & ~1023u);
  s.qFull = shared_address(barriers);
  // As if unknown: the compiler would find them anew before each product.
  asm volatile("" : "+r"(s.q), "+r"(s.qFull));
  s.k = s.q + kQStages * Roles<Q>::kQBytes;
  s.v = s.k + kStages * kKBytes;
  s.qEmpty = s.qFull + 8 * kQStages;
  s.kFull = s.qEmpty + 8 * kQStages;
  s.kEmpty = s.kFull + 8 * kStages;
  s.vFull = s.kEmpty + 8 * kStages;
  s.vEmpty = s.vFull + 8 * kStages;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kQStages; ++i) {
      ptx::mbarrier_init(s.qFull + 8 * i, 1);
      ptx::mbarrier_init(s.qEmpty + 8 * i, kConsumers * 4);
    }
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(s.kFull + 8 * i, 1);
      ptx::mbarrier_init(s.vFull + 8 * i, 1);
      ptx::mbarrier_init(s.kEmpty + 8 * i, kConsumers * 4);
      ptx::mbarrier_init(s.vEmpty + 8 * i, kConsumers * 4);
    }
    ptx::fence_mbarrier_init();
  }
  fill_ones<Roles<Q>::kThreads>(s.v);
  __syncthreads();
  const int warpgroup = ptx::warpgroup_index();
  if (warpgroup == kConsumers) {
    ptx::registers_lower<24>();
    if (threadIdx.x == kConsumers * 128) produce<Q>(p, s);
  } else {
    ptx::registers_raise<Roles<Q>::kRegisters>();
    consume<Q, T>(p, s, warpgroup);
  }
}

}  // namespace

VD_KERNEL(attention_q8_sm90_f8e4m3_f16, AttentionQ8Params, Roles<__nv_fp8_e4m3>::kThreads, 1, attention_q8_d64<__nv_fp8_e4m3, __half>)
VD_KERNEL(attention_q8_sm90_f8e4m3_bf16, AttentionQ8Params, Roles<__nv_fp8_e4m3>::kThreads, 1,
          attention_q8_d64<__nv_fp8_e4m3, __nv_bfloat16>)
VD_KERNEL(attention_q8_sm90_f8e4m3_f8e4m3, AttentionQ8Params, Roles<__nv_fp8_e4m3>::kThreads, 1,
          attention_q8_d64<__nv_fp8_e4m3, __nv_fp8_e4m3>)
VD_KERNEL(attention_q8_sm90_i8_f16, AttentionQ8Params, Roles<int8_t>::kThreads, 1, attention_q8_d64<int8_t, __half>)
VD_KERNEL(attention_q8_sm90_i8_bf16, AttentionQ8Params, Roles<int8_t>::kThreads, 1, attention_q8_d64<int8_t, __nv_bfloat16>)
