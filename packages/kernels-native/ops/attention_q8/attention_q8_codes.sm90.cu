// Codes and scales of attention_q8's operands on Hopper, heads of 64 channels of 16-bit types: a cluster of blocks holds one head of one
// frame in registers, so that it is read once for the largest magnitude and for the codes.
// Codes that are there, of attention_f8: those of values change their order.
// Symbols: attention_q8_codes_held_<dtype>, attention_q8_values.
#include "../../device/ptx/cluster.cuh"
#include "../../device/ptx/mbarrier.cuh"
#include "attention_q8_codes.cuh"

using namespace vd::device;

namespace {

/** The largest of `found` and a run of eight channels. keepsNan: infinite where one is NaN, else NaN does not count. */
template <class T> __device__ __forceinline__ float largest_of_run(const uint4& run, float found, bool keepsNan) {
  float v[8];
  unpack8<T>(run, v);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    found = fmaxf(found, fabsf(v[i]));
    if (keepsNan && v[i] != v[i]) found = INFINITY;
  }
  return found;
}

/** The largest of the block's threads, NaN where it is for one. */
__device__ __forceinline__ float max_block(float v, bool isNan) {
  __shared__ float parts[kQ8HeldThreads / 32];
  if (isNan) v = NAN;
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) v = larger_or_nan(v, __shfl_xor_sync(0xffffffffu, v, step));
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[threadIdx.x & 31];
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) v = larger_or_nan(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}
static_assert(kQ8HeldThreads == 32 * 32, "a warp reads all warps' parts");

/** The largest of the cluster's blocks. */
__device__ __forceinline__ float max_cluster(float v) {
  __shared__ __align__(16) float4 mine;
  if (threadIdx.x == 0) mine = make_float4(v, 0.0f, 0.0f, 0.0f);
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const int numBlocks = static_cast<int>(ptx::cluster_num_blocks());
  for (int block = 0; block < numBlocks; ++block)
    v = larger_or_nan(v, ptx::load_cluster16(ptx::map_to_block(shared_address(&mine), block)).x);
  return v;
}

/** Eight codes of a run. */
template <class T> __device__ __forceinline__ uint2 codes_of(const uint4& run, float inverse, bool isInt8) {
  float v[8];
  unpack8<T>(run, v);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = __fmul_rn(v[i], inverse);
  if (isInt8) return make_uint2(pack_codes4<int8_t>(v), pack_codes4<int8_t>(v + 4));
  return make_uint2(pack_codes4<__nv_fp8_e4m3>(v), pack_codes4<__nv_fp8_e4m3>(v + 4));
}

/** A tile of 128 rows, channels outside. Chunks of 16 columns change places from one run of channels to the next, so that a warp's
 *  stores meet all banks. */
struct Tile {
  uint8_t codes[64][kQ8Keys];
  static __device__ __forceinline__ int column(int channel, int row) { return row ^ (channel >> 3 & 7) << 4; }
};

template <class T> __device__ __forceinline__ void codes_held(const AttentionCodesParams& p) {
  extern __shared__ __align__(16) uint8_t dynamicShared[];
  const AttentionCodesSide& side = p.sides[blockIdx.y];
  const int numBlocks = static_cast<int>(ptx::cluster_num_blocks()), rank = static_cast<int>(ptx::cluster_block_rank());
  const int item = blockIdx.x / numBlocks, frame = item / p.heads, head = item % p.heads;
  if (frame >= side.frames) return;  // the whole cluster
  const int blockRows = ((side.rows + numBlocks - 1) / numBlocks + kQ8Keys - 1) / kQ8Keys * kQ8Keys, from = rank * blockRows;
  const int tiles = min(blockRows, max(0, side.paddedRows - from) + kQ8Keys - 1) / kQ8Keys;
  const int rowInTile = threadIdx.x / 8, channel = threadIdx.x % 8 * 8;

  uint4 held[kQ8HeldRuns];
  const T* x =
      static_cast<const T*>(side.x) + (static_cast<int64_t>(frame) * side.rows + from + rowInTile) * side.pitch + head * 64 + channel;
#pragma unroll
  for (int j = 0; j < kQ8HeldRuns; ++j) {
    held[j] = make_uint4(0, 0, 0, 0);
    if (j < tiles && from + j * kQ8Keys + rowInTile < side.rows)
      held[j] = __ldg(reinterpret_cast<const uint4*>(x + static_cast<int64_t>(j) * kQ8Keys * side.pitch));
  }
  float found = 0.0f;
#pragma unroll
  for (int j = 0; j < kQ8HeldRuns; ++j) found = largest_of_run<T>(held[j], found, side.keepsNan);
  const float scale = side.shrink * head_code_scale(max_cluster(max_block(found, side.keepsNan && found == INFINITY)), side.isInt8);
  const float inverse = __frcp_rn(scale);
  ptx::cluster_arrive();  // a block may not leave while others still read its largest
  if (rank == 0 && threadIdx.x == 0) side.scales[item] = scale;

  if (side.order == CodeOrder::rows) {
    const int64_t channels = static_cast<int64_t>(p.heads) * 64;
    uint8_t* codes = side.codes + (static_cast<int64_t>(frame) * side.rows + from + rowInTile) * channels + head * 64 + channel;
#pragma unroll
    for (int j = 0; j < kQ8HeldRuns; ++j)
      if (j < tiles && from + j * kQ8Keys + rowInTile < side.rows)
        *reinterpret_cast<uint2*>(codes + j * kQ8Keys * channels) = codes_of<T>(held[j], inverse, side.isInt8);
  } else {
    Tile* const staged = reinterpret_cast<Tile*>(dynamicShared);
    const int place = (rowInTile & ~15) + place_of(rowInTile & 15);
#pragma unroll
    for (int j = 0; j < kQ8HeldRuns; ++j) {
      if (j >= tiles) continue;
      const uint2 codes = codes_of<T>(held[j], inverse, side.isInt8);
      const bool inside = from + j * kQ8Keys + rowInTile < side.rows;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        staged[j].codes[channel + i][Tile::column(channel, place)] =
            inside ? static_cast<uint8_t>((i < 4 ? codes.x : codes.y) >> i % 4 * 8) : 0;
    }
    __syncthreads();
    uint8_t* const codes = side.codes + static_cast<int64_t>(item) * 64 * side.paddedRows + from;
    for (int i = threadIdx.x; i < tiles * 64 * (kQ8Keys / 16); i += kQ8HeldThreads) {
      const int chunk = i % (kQ8Keys / 16), tile = i / (kQ8Keys / 16) % tiles, d = i / (kQ8Keys / 16) / tiles;
      *reinterpret_cast<uint4*>(codes + static_cast<int64_t>(d) * side.paddedRows + tile * kQ8Keys + chunk * 16) =
          *reinterpret_cast<const uint4*>(&staged[tile].codes[d][Tile::column(d, chunk * 16)]);
    }
  }
  __syncwarp();
  ptx::cluster_wait();
}

constexpr int kValuesThreads = 256;

/** A block takes 128 rows of a head. Four rows whose probabilities lie beside each other in registers, see place_of, and four channels are
 *  a thread's at a time, whose bytes change places there. */
__device__ __forceinline__ void reordered_values(const AttentionValuesParams& p) {
  __shared__ uint32_t tile[64][kQ8Keys / 4 + 1];
  const int tiles = p.paddedRows / kQ8Keys, from = static_cast<int>(blockIdx.x) % tiles * kQ8Keys;
  const int item = static_cast<int>(blockIdx.x) / tiles, frame = item / p.heads, head = item % p.heads;
  const uint8_t* v = p.v + static_cast<int64_t>(frame) * p.rows * p.pitch + head * 64;
#pragma unroll
  for (int i = threadIdx.x; i < 16 * kQ8Keys / 4; i += kValuesThreads) {
    const int channel = i % 16 * 4, quad = i / 16, row0 = from + quad / 4 * 16 + quad % 4 * 2;
    uint32_t rows[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = row0 + (j & 1) + (j >> 1) * 8;
      rows[j] = row < p.rows ? __ldg(reinterpret_cast<const uint32_t*>(v + row * p.pitch + channel)) : 0;
    }
    const uint32_t low[2] = {__byte_perm(rows[0], rows[1], 0x5140), __byte_perm(rows[2], rows[3], 0x5140)};
    const uint32_t high[2] = {__byte_perm(rows[0], rows[1], 0x7362), __byte_perm(rows[2], rows[3], 0x7362)};
    tile[channel][quad] = __byte_perm(low[0], low[1], 0x5410);
    tile[channel + 1][quad] = __byte_perm(low[0], low[1], 0x7632);
    tile[channel + 2][quad] = __byte_perm(high[0], high[1], 0x5410);
    tile[channel + 3][quad] = __byte_perm(high[0], high[1], 0x7632);
  }
  __syncthreads();
  uint8_t* codes = p.codes + static_cast<int64_t>(item) * 64 * p.paddedRows + from;
#pragma unroll
  for (int i = threadIdx.x; i < 64 * kQ8Keys / 16; i += kValuesThreads) {
    const int channel = i / (kQ8Keys / 16), chunk = i % (kQ8Keys / 16);
    const uint32_t* at = &tile[channel][chunk * 4];
    *reinterpret_cast<uint4*>(codes + static_cast<int64_t>(channel) * p.paddedRows + chunk * 16) = make_uint4(at[0], at[1], at[2], at[3]);
  }
}

}  // namespace

VD_KERNEL(attention_q8_values, AttentionValuesParams, kValuesThreads, 4, reordered_values)
VD_KERNEL(attention_q8_codes_held_f16, AttentionCodesParams, kQ8HeldThreads, 1, codes_held<__half>)
VD_KERNEL(attention_q8_codes_held_bf16, AttentionCodesParams, kQ8HeldThreads, 1, codes_held<__nv_bfloat16>)
