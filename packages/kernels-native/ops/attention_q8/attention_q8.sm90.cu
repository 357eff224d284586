// attention_q8 on Hopper, heads of 64 channels, values in float8 too: o = softmax(scale · q · kᵀ) · v.
//
// Persistent blocks of one producer and two consumer warpgroups; a tile is 128 queries of one head, 64 to a warpgroup. The order of work
// is that of attention.sm90.cu: scores of the next block of 128 keys are issued before the probabilities of this one are multiplied with
// the values, so that the softmax overlaps both products. What 8 bits change:
//   - wgmma reads float8 only with its reduction contiguous, so values lie transposed, keys of each 16 in the order in which a thread
//     holds their probabilities: scores become the A operand without an exchange (attention_q8_codes.cuh).
//   - Probabilities are relative to 2^-5 of the running maximum, which moves when a code is next to the largest: they use float8's range of
//     15 powers of two, and their sum, a product with ones, is that of the rounded ones.
//   - Most codes are logarithms of the probabilities, rounded: see take_logarithms.
//   - Outputs of each block are added up in float32 (tensor cores keep about 14 bits of a sum).
// Symbols: attention_q8_sm90_<type of q and k>_<dtype>.
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/ptx/math.cuh"
#include "../../device/ptx/matrix_descriptor.cuh"
#include "../../device/ptx/mma.cuh"
#include "../../device/ptx/registers.cuh"
#include "../../device/ptx/tma.cuh"
#include "../../device/ptx/wgmma.cuh"
#include "../../device/quantized.cuh"
#include "../../device/ring_sm90.cuh"
#include "attention_q8_params.h"

using namespace vd::device;

namespace {

constexpr int kStages = 4, kQStages = 2, kConsumers = 2, kThreads = 384;
constexpr int kQBytes = kQ8Queries * 64, kKBytes = kQ8Keys * 64, kVBytes = 64 * kQ8Keys;
/** A stage of values ends in eight rows of ones. */
constexpr int kVStage = kVBytes + 8 * kQ8Keys;
/** Accumulators of 64 channels and of eight columns of ones. */
constexpr int kOutputs = 36;
/** Probabilities of the running maximum are 2^kShift; the code of 448 is the largest. */
constexpr float kShift = 5.0f;
constexpr int kLargestCode = 126;
/** Logarithmic codes are in the mean as large as the powers when they are taken this much lower. */
constexpr float kSkew = 0.05f;
/** 1.5 · 2^23: integers below 2^22 in size are the lowest bits of a float32 when it is added. */
constexpr float kIntegerShift = 12582912.0f;

struct Shared {
  uint32_t q, k, v, qFull, qEmpty, kFull, kEmpty, vFull, vEmpty;
};

struct TileIndex {
  int q, head, frame, keyFrame;  // first query; frames counted over clips
};
__device__ __forceinline__ TileIndex tile_index(const AttentionQ8Params& p, int tile) {
  TileIndex t;
  t.q = tile % p.numQTiles * kQ8Queries;
  const int rest = tile / p.numQTiles;
  t.head = rest % p.heads;
  t.frame = rest / p.heads;
  t.keyFrame = p.keyFrames == p.frames ? t.frame : t.frame / p.frames;
  return t;
}

__device__ __forceinline__ void produce(const AttentionQ8Params& p, const Shared& s) {
  RingCursor<kStages> cursor;
  RingCursor<kQStages> q;
  const int numBlocks = (p.seqK + kQ8Keys - 1) / kQ8Keys;
  for (int tile = blockIdx.x; tile < p.numTiles; tile += gridDim.x) {
    const TileIndex t = tile_index(p, tile);
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

/** Issues scores[64, 128] = Q · Kᵀ for this warpgroup. */
template <class Q, class Sum> __device__ __forceinline__ void issue_scores(Sum (&scores)[64], uint32_t q, uint32_t k) {
  const uint64_t a = ptx::matrix_descriptor64(q), b = ptx::matrix_descriptor64(k);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 2; ++step) ptx::Wgmma<Q, 128, 0>::run(scores, a + 2 * step, b + 2 * step, step > 0);
  ptx::wgmma_commit();
}

/** Issues part[64, 72] = P · [V | 1]. */
__device__ __forceinline__ void issue_values(float (&part)[kOutputs], const uint32_t (&p)[4][4], uint32_t v) {
  const uint64_t b = ptx::matrix_descriptor(v);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) ptx::WgmmaRegisters<__nv_fp8_e4m3, 72, 0>::run(part, p[step], b + 2 * step, step > 0);
  ptx::wgmma_commit();
}

/** The largest scores of this thread's two rows, over all threads that have parts of them. */
__device__ __forceinline__ void largest(const float (&scores)[64], float (&best)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const auto pair = [&](int i) { return fmaxf(scores[4 * i + 2 * r], scores[4 * i + 2 * r + 1]); };
    float even = pair(0), odd = pair(1);
#pragma unroll
    for (int i = 2; i < 16; i += 2) {
      even = fmaxf(even, pair(i));
      odd = fmaxf(odd, pair(i + 1));
    }
    best[r] = fmaxf(even, odd);
  }
#pragma unroll
  for (int step = 1; step <= 2; step <<= 1)
#pragma unroll
    for (int r = 0; r < 2; ++r) best[r] = fmaxf(best[r], __shfl_xor_sync(0xffffffffu, best[r], step));
}

/** Products as floats, -inf for keys that there are not. Integers get kIntegerShift added, which costs one addition where a conversion
 *  costs eight: maxima are shifted with them. */
template <class Sum> __device__ __forceinline__ void read_scores(const Sum (&sums)[64], float (&scores)[64], int valid) {
  const int column = 2 * (threadIdx.x & 3);
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    if constexpr (std::is_same_v<Sum, int32_t>) scores[i] = __int_as_float(sums[i] + __float_as_int(kIntegerShift));
    else scores[i] = sums[i];
  }
  if (valid >= kQ8Keys) return;
#pragma unroll
  for (int i = 0; i < 64; ++i)
    if (i / 4 * 8 + column + (i & 1) >= valid) scores[i] = -INFINITY;
}

/** What four scores become before their codes are packed: four powers of two as float32 (nearest), or two pairs in float16. */
using Powers = uint32_t[4];

/** 2^(scale · score - offset). */
__device__ __forceinline__ void take_powers(Powers& powers, const float (&scores)[4], float scale, float offset) {
#pragma unroll
  for (int i = 0; i < 4; ++i) powers[i] = __float_as_uint(ptx::exp2_approx(fmaf(scores[i], scale, -offset)));
}

/** 1024 + code in float16, whose lowest byte is the code: the integer nearest to 8 · (scale · score - offset + 7 - kSkew), so that a
 *  power of two is eight equal steps and a code at most 6 % off the power. Takes no special function. */
__device__ __forceinline__ void take_logarithms(Powers& powers, const float (&scores)[4], float scale, float offset) {
  constexpr float kRange = kLargestCode / 8.0f;
  const float factor = scale * (1 / kRange), shift = (7.0f - kSkew - offset) * (1 / kRange);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const __half2 share =
        __floats2half2_rn(__saturatef(fmaf(scores[2 * i], factor, shift)), __saturatef(fmaf(scores[2 * i + 1], factor, shift)));
    const __half2 sum = __hfma2(share, __float2half2_rn(kLargestCode), __float2half2_rn(1024.0f));
    powers[i] = *reinterpret_cast<const uint32_t*>(&sum);
  }
}

/** Whether the codes of a pair of blocks of 8 keys are the nearest ones: of one in eight, which NaN is not lost in. */
__device__ __forceinline__ constexpr bool is_nearest(int pair) { return pair == 0; }

__device__ __forceinline__ void soften(Powers (&powers)[16], const float (&scores)[64], const float (&maxima)[2], float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float offset = fmaf(maxima[r], scale, -kShift);
#pragma unroll
    for (int pair = 0; pair < 8; ++pair) {
      const float* v = scores + 8 * pair + 2 * r;
      const float four[4] = {v[0], v[1], v[4], v[5]};
      if (is_nearest(pair)) take_powers(powers[pair * 2 + r], four, scale, offset);
      else take_logarithms(powers[pair * 2 + r], four, scale, offset);
    }
  }
}

/** Probabilities as the A operand of four products of depth 32: a thread's scores of two blocks of 8 keys are four neighbours there.
 *  Returns whether a code of the warp is at least kLargestCode - 1. */
__device__ __forceinline__ bool pack_probabilities(uint32_t (&p)[4][4], const Powers (&powers)[16]) {
  uint32_t exceeds = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    uint32_t codes;
    if (is_nearest(i / 2)) {
      const float four[4] = {__uint_as_float(powers[i][0]), __uint_as_float(powers[i][1]), __uint_as_float(powers[i][2]),
                             __uint_as_float(powers[i][3])};
      codes = pack_codes4<__nv_fp8_e4m3>(four);
    } else {
      codes = __byte_perm(powers[i][0], powers[i][1], 0x6420);
    }
    p[i / 4][i % 4] = codes;
    exceeds |= codes + (129 - kLargestCode) * 0x01010101u;
  }
  return __any_sync(0xffffffffu, (exceeds & 0x80808080u) != 0);
}

/** Moves the maxima to the largest scores so far, and older sums with them. */
__device__ __forceinline__ void raise(float (&maxima)[2], const float (&scores)[64], float scale, float (&out)[kOutputs]) {
  float best[2], factors[2];
  largest(scores, best);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float raised = fmaxf(best[r], maxima[r]);
    factors[r] = ptx::exp2_approx((maxima[r] - raised) * scale);
    maxima[r] = raised;
  }
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) out[i] *= factors[i >> 1 & 1];
}

__device__ __forceinline__ void add_part(float (&out)[kOutputs], const float (&part)[kOutputs]) {
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) out[i] += part[i];
}

template <class T>
__device__ __forceinline__ void store_tile(const AttentionQ8Params& p, const TileIndex& t, const float (&out)[kOutputs], int rowInTile) {
  const int lane = threadIdx.x & 3;
  const float valueScale = __ldg(p.vScales + t.keyFrame * p.heads + t.head);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float factor = valueScale / out[32 + 2 * r];
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
  using Sum = std::conditional_t<std::is_same_v<Q, int8_t>, int32_t, float>;
  RingCursor<kStages> k, v;
  RingCursor<kQStages> q;
  uint32_t probabilities[4][4];
  const int numBlocks = (p.seqK + kQ8Keys - 1) / kQ8Keys;
  const int rowInTile = group * 64 + threadIdx.x % 128 / 32 * 16 + (threadIdx.x & 31) / 4;
  for (int tile = blockIdx.x; tile < p.numTiles; tile += gridDim.x) {
    const TileIndex t = tile_index(p, tile);
    const float scale = p.scale * __ldg(p.qScales + t.frame * p.heads + t.head) * __ldg(p.kScales + t.keyFrame * p.heads + t.head);
    const uint32_t queries = s.q + q.stage * kQBytes + group * 64 * 64;
    Sum sums[64];
    float scores[64], out[kOutputs] = {}, part[kOutputs], maxima[2];
    Powers powers[16] = {};
    ptx::mbarrier_wait(s.qFull + 8 * q.stage, q.parity);
    ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    issue_scores<Q>(sums, queries, s.k + k.stage * kKBytes);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.kEmpty + 8 * k.stage);
    k.advance();
    read_scores(sums, scores, p.seqK);
    largest(scores, maxima);
    soften(powers, scores, maxima, scale);
    pack_probabilities(probabilities, powers);
    if (numBlocks > 1) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
    for (int j = 1; j < numBlocks; ++j) {
      issue_scores<Q>(sums, queries, s.k + k.stage * kKBytes);
      ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
      issue_values(part, probabilities, s.v + v.stage * kVStage);
      ptx::wgmma_wait<1>();
      release_stage<1>(s.kEmpty + 8 * k.stage);
      k.advance();
      read_scores(sums, scores, p.seqK - j * kQ8Keys);
      // Always: the compiler takes the powers after the wait below, not beside the products, unless they are in a branch.
      if (p.numTiles > 0) soften(powers, scores, maxima, scale);
      if (j + 1 < numBlocks) ptx::mbarrier_wait(s.kFull + 8 * k.stage, k.parity);
      ptx::wgmma_wait<0>();
      release_stage<1>(s.vEmpty + 8 * v.stage);
      v.advance();
      add_part(out, part);
      if (pack_probabilities(probabilities, powers)) {
        raise(maxima, scores, scale, out);
        soften(powers, scores, maxima, scale);
        pack_probabilities(probabilities, powers);
      }
    }
    release_stage<1>(s.qEmpty + 8 * q.stage);
    q.advance();
    ptx::mbarrier_wait(s.vFull + 8 * v.stage, v.parity);
    issue_values(part, probabilities, s.v + v.stage * kVStage);
    ptx::wgmma_wait<0>();
    release_stage<1>(s.vEmpty + 8 * v.stage);
    v.advance();
    add_part(out, part);
    store_tile<T>(p, t, out, rowInTile);
  }
}

/** Fills the rows of ones behind each stage of values. By all threads. */
__device__ __forceinline__ void fill_ones(uint32_t v) {
  constexpr uint32_t kOnes = 0x38383838;
  constexpr int kChunks = 8 * kQ8Keys / 16;
  for (int i = threadIdx.x; i < kStages * kChunks; i += kThreads)
    ptx::store_shared16(v + i / kChunks * kVStage + kVBytes + i % kChunks * 16, make_uint4(kOnes, kOnes, kOnes, kOnes));
  ptx::fence_proxy_async();
}

template <class Q, class T> __device__ __forceinline__ void attention_q8_d64(const AttentionQ8Params& p) {
  extern __shared__ uint8_t dynamicShared[];
  __shared__ __align__(8) uint64_t barriers[2 * kQStages + 4 * kStages];
  Shared s;
  s.q = (shared_address(dynamicShared) + 1023) & ~1023u;
  s.k = s.q + kQStages * kQBytes;
  s.v = s.k + kStages * kKBytes;
  s.qFull = shared_address(barriers);
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
  fill_ones(s.v);
  __syncthreads();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == kConsumers) {
    ptx::registers_lower<24>();
    if (threadIdx.x == kConsumers * 128) produce(p, s);
  } else {
    ptx::registers_raise<240>();
    consume<Q, T>(p, s, warpgroup);
  }
}

}  // namespace

VD_KERNEL(attention_q8_sm90_f8e4m3_f16, AttentionQ8Params, kThreads, 1, attention_q8_d64<__nv_fp8_e4m3, __half>)
VD_KERNEL(attention_q8_sm90_f8e4m3_bf16, AttentionQ8Params, kThreads, 1, attention_q8_d64<__nv_fp8_e4m3, __nv_bfloat16>)
VD_KERNEL(attention_q8_sm90_i8_f16, AttentionQ8Params, kThreads, 1, attention_q8_d64<int8_t, __half>)
VD_KERNEL(attention_q8_sm90_i8_bf16, AttentionQ8Params, kThreads, 1, attention_q8_d64<int8_t, __nv_bfloat16>)
