// Matrix tiles (Intel AMX) as an fp32 engine: each float is split into three bfloat16 parts of eight bits, which together
// hold all 24, and the products that matter at fp32 are added up.
//
// With a = a1 + a2 + a3 and b likewise, |a2| <= 2^-8 |a| and |a3| <= 2^-16 |a|. Of the nine products the six down to
// 2^-16 are taken; what is dropped is below 2^-24. Weights stored as f16 (11 bits) need two parts and five products,
// those of bf16 one part and three. Sums are fp32; one instruction sums 32 products before it rounds into the total.
//
// Why: a core does 16 times as many bf16 as fp32 multiply-adds. Measured on Sapphire Rapids: 530 GFLOP/s of fp32 a core
// on zeros and 440 on random data, where the tiles draw the clock down, against 160 of fused multiply-adds in the same
// convolution; error 1.5e-7 relative L2 against float64, fused multiply-adds 4.5e-7.
// What lost: three products (a1 b1, a1 b2, a2 b1) would be 1.7 times as fast again with an error of 1e-6, no longer fp32.
// Winograd's F(2x2,3x3) on tiles halves the products but quadruples what is split: no gain at 64 channels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cpu_features.h"

namespace vd::cpu::amx {

/** Values of k per step: 16 pairs. Within a step pair j holds k = j and k = j + 16, for activations and weights alike. */
inline constexpr int64_t kStep = 32;
/** Rows of one tile, and columns. */
inline constexpr int kSide = 16;
inline constexpr int64_t kTileBytes = 1024;
inline constexpr int kParts = 3;
/** Bytes of one part of one step of one row. */
inline constexpr int64_t kStepBytes = 2 * kStep;
/** Rows and columns of a block of sums. */
inline constexpr int kBlockSide = 2 * kSide;

/** Parts of an activation, and the most of a weight. Part i of one is multiplied with part j of the other where i + j is less. */
constexpr int parts_of(Math math) { return math == Math::exact ? 3 : math == Math::fast ? 2 : 1; }

/** Products of a step, for weights of `weightParts`, at most `parts`. */
constexpr int64_t num_products(int parts, int weightParts) {
  int64_t count = 0;
  for (int i = 0; i < parts; ++i) count += parts - i < weightParts ? parts - i : weightParts;
  return count;
}

constexpr int64_t padded_k(int64_t k) { return (k + kStep - 1) / kStep * kStep; }

/** Bytes from a split row of `values` (whole steps), `parts` of each, to the next. A stride of eight cache lines or its multiples would put
 *  a tile's sixteen rows into few sets of the first-level cache: then one line more. */
constexpr int64_t split_pitch(int64_t values, int parts) {
  const int64_t lines = parts * values / kStep;
  return kStepBytes * (lines % 8 == 0 ? lines + 1 : lines);
}

/** Where one step of k lies, in bytes from the starts of the rows and of the panel. */
struct Step {
  int64_t rowOffset;
  int64_t panelOffset;
};

/** sums [32, 32] = rows · panel for one or two runs of 16 rows and one or two tiles of 16 columns. */
struct Block {
  const std::byte* rows[2];  // first row of each run, part 0; the second null for none
  int64_t rowBytes;  // from a row to the next
  int64_t partBytes;  // from a part of a row to its next
  const std::byte* panel;  // per step: parts x column tiles of kTileBytes
  int parts;  // of a row's values, 1 to 3
  int weightParts;  // 1 to parts
  int colTiles;  // 1 or 2
  const Step* steps;
  int64_t numSteps;
  float* sums;
  int64_t sumsPitch;  // floats
};

/** Work for the vector units that is done between the tiles' products, which take sixteen cycles each and leave the rest
 *  of the core idle. Pieces should be of a hundred instructions or so. */
struct Aside {
  void (*piece)(void* state) = nullptr;
  void* state = nullptr;
  int64_t left = 0;  // pieces to do
};

/** Pixels to split: `channels` floats each, written as `parts` of padded_k(channels) values with zeros behind. */
struct Split {
  const float* in;
  int64_t inPitch;  // floats
  int64_t numPixels;
  int64_t channels;
  std::byte* out;
  int64_t outPitch;  // bytes
  int64_t partBytes;
  int parts;
};

/** What multiplies. */
struct Tiles {
  /** Sets up the tile registers of the calling thread, which must be done before multiply(), and puts them back. */
  void (*begin)();
  void (*end)();
  /** Also does all pieces of `aside`, before it writes sums. */
  void (*multiply)(const Block& block, Aside& aside);
};

/** AMX itself. */
extern const Tiles kAmxTiles;
/** VDPBF16PS, which multiplies pairs of bf16 in vectors. */
extern const Tiles kDotTiles;
/** The same with fused multiply-adds, for tests on machines that have neither. */
extern const Tiles kPlainTiles;

/** The tiles of a target, and how finely they take values. */
struct Engine {
  const Tiles* tiles = nullptr;
  int parts = 0;
  explicit operator bool() const { return tiles != nullptr; }
};

/** None where the vectors' own float32 products serve better. */
Engine engine_of(const Target& target);

void split(const Split& split);
/** Splits tiles of f16 into two parts each, which hold all their bits: `in` [steps, colTiles], `out` [steps, 2, colTiles]. */
void expand_f16(const std::byte* in, int64_t steps, int colTiles, std::byte* out);

}  // namespace vd::cpu::amx
