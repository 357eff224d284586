// Attention cut into independent pieces: which rows of which sequence, wherever they lie in memory.
#pragma once
#include <cstdint>
#include <vector>

#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** Queries of one head of one sequence with all their keys. Steps are in floats from one row to the next. */
struct AttentionPiece {
  const float* q;
  int64_t qStep;
  const float* k;
  int64_t kStep;
  const float* v;
  int64_t vStep;
  float* y;
  int64_t yStep;
  float* lse;  // or null
  int64_t lseStep;
  const std::byte* mask;  // row of the first query, or null
  int64_t maskStep;       // bytes
  int64_t numQueries;
  int64_t numKeys;
  int64_t firstQuery;  // its place in the sequence, for the causal limit
};

/** Pieces per sequence and per head, so that tasks can be numbered before they run. */
class AttentionPieces {
 public:
  /** Cuts the queries into runs of at most `maxQueries`. Offsets of packed sequences are read here, and held to the
   *  tensors' sizes. */
  AttentionPieces(const AttentionArgs& args, int64_t maxQueries);
  int64_t count() const { return static_cast<int64_t>(runs_.size()) * args_.heads; }
  AttentionPiece piece(int64_t index) const;
  /** Gives queries before the first and after the last packed sequence, which see no key, their result: 0. */
  void clear_outside() const;

 private:
  /** A run of queries: rows of q and of k in tokens (space) or of one pixel over frames (time). */
  struct Run {
    int64_t clip, frame, token;
    int64_t firstQuery, numQueries;
    int64_t firstKey, numKeys;
  };
  void clear(int64_t firstToken, int64_t endToken) const;
  void add_packed(int64_t maxQueries);
  void add_runs(Run run, int64_t queries, int64_t maxQueries);

  AttentionArgs args_;
  int64_t headDim_;
  std::vector<Run> runs_;
};

}  // namespace vd::cpu
