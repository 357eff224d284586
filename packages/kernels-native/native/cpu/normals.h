// Standard normals as torch draws them on the CPU: the Mersenne Twister, then Box and Muller's transform in blocks.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../generated/dtype.h"
#include "kernel_table.h"

namespace vd::cpu {

/** Normals come in blocks of so many: the first half of a block's uniforms are radii, the second half angles. */
inline constexpr size_t kNormalBlock = 16;

/** The inner loops of an instruction set. All of them give the same bits in every table. */
struct NormalKernels {
  /** All words of MT19937 become those that come behind them. */
  void (*twist)(uint32_t* words);
  /** Writes what words of MT19937 give when they are drawn. */
  void (*temper)(const uint32_t* words, uint32_t* values, int64_t count);
  /** Writes the low 24 bits of what `temper` gives as fractions in [0, 1). */
  void (*uniforms)(const uint32_t* words, float* values, int64_t count);
  /** Blocks of kNormalBlock uniforms in [0, 1) become normals in place. */
  void (*box_muller)(float* values, int64_t numBlocks);
  /** values become mean + scale · value, each operation rounded to float16. mean: null for none. */
  void (*shape_halves)(float* values, int64_t count, float scale, const float* mean);
};

VD_DECLARE_KERNEL_TABLE(NormalKernels, normal_kernels)

/** The Mersenne Twister MT19937. Source: M. Matsumoto and T. Nishimura, "Mersenne Twister: A 623-dimensionally
 *  equidistributed uniform pseudorandom number generator" (1998). */
struct MersenneTwister {
  static constexpr size_t kWords = 624;
  uint32_t words[kWords];
  /** Of the word that comes next; kWords where all were drawn. */
  size_t next;

  /** Draws anew where all words were drawn. Writes what each of the words gives when it is drawn. */
  void draws(const NormalKernels& kernels, uint32_t* values);

  /** The low 24 bits of the next `count` draws as fractions in [0, 1). */
  void uniforms(const NormalKernels& kernels, float* values, size_t count);

  /** Goes on as `uniforms` does without its numbers. */
  void skip(const NormalKernels& kernels, size_t count);

 private:
  size_t ready(const NormalKernels& kernels, size_t most);
};

/** What becomes of unit normals: mean + scale · normal, each operation rounded to `dtype`. */
struct NormalShape {
  float scale = 1;
  /** One for each number, or null for none at all. */
  const float* mean = nullptr;
  /** f32, f16 or bf16. */
  DType dtype = DType::f32;
};

/** Fills `values` as torch.randn does in float32, then shapes them, on several threads where it is worth it; the engine goes on. count:
 *  kNormalBlock or more; torch draws fewer in another way. The numbers are the same on every instruction set. Source: pytorch/pytorch
 *  aten/src/ATen/native/cpu/DistributionTemplates.h `normal_fill`. */
void fill_normals(MersenneTwister& engine, float* values, size_t count, const NormalShape& shape, Isa isa);

}  // namespace vd::cpu
