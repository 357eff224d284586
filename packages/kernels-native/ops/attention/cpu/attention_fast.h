// The candidates behind prepare_attention, and what they share.
#pragma once
#include <memory>

#include "../../../native/cpu/amx_kernels.h"
#include "../../../native/cpu/prepared.h"
#include "../../../native/generated/op_args.h"

#include "attention_heads.h"
#include "attention_kernels.h"
#include "attention_sequence.h"

namespace vd::cpu {

/** On the SIMD matrix kernel. */
std::unique_ptr<PreparedRow> make_attention_simd(const AttentionArgs& args, Isa isa);
/** On the AMX engine. */
std::unique_ptr<PreparedRow> make_attention_amx(const AttentionArgs& args, const amx::Engine& engine);
/** By the one of both that suits the row, which is all float32 and transforms no heads. */
std::unique_ptr<PreparedRow> make_attention_float(const AttentionArgs& args, const Target& target);
/** The same for any row, over float32 copies of what is not. */
std::unique_ptr<PreparedRow> make_attention_staged(const AttentionArgs& args, const Target& target);

/** Longest sequence of keys. */
int64_t longest_keys(const AttentionArgs& args);

/** Keys taken at a time: all, or equal parts of at most `most`, in whole vectors of `step`. */
int64_t key_chunk(int64_t keys, int64_t most, int64_t step);

/** Running state of the softmax of a piece, one value per query. */
struct SoftmaxState {
  float* largest;
  float* total;
  float* correction;  // one per row of a tile
  float* mask;        // work space [tile rows, pitch]
};

/** Keys among `count` from `firstKey` on that a query of the piece may see. */
int64_t seen_keys(const AttentionArgs& args, const AttentionPiece& piece, int64_t query, int64_t firstKey, int64_t count);

/** True if scores of the row need something added: a mask, or -inf outside a window. */
bool has_added(const AttentionArgs& args);

/** A query's mask and window over `count` keys from `firstKey` on, as what is added to the scaled scores. */
void read_added(const AttentionArgs& args, const AttentionPiece& piece, int64_t query, int64_t firstKey, int64_t count, float* out);

/** Turns a tile's scores [rows, pitch] into probabilities: `count` keys from `firstKey` on, queries from `query` on;
 *  `width` floats are a vector. */
void softmax_tile(const AttentionArgs& args, int width, const AttentionKernels& kernels, const AttentionPiece& piece, int64_t query,
                  int rows, int64_t firstKey, int64_t count, float* scores, int64_t pitch, const SoftmaxState& state);

/** Clears the state of a piece. */
void start_softmax(const AttentionPiece& piece, const SoftmaxState& state);

/** Writes the log-sum-exp, and zeros to y when there are no keys at all. */
void finish_piece(const AttentionPiece& piece, int64_t headDim, bool anyKeys, const SoftmaxState& state);

}  // namespace vd::cpu
