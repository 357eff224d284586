// Attention cut into independent pieces: which rows of which sequence, wherever they lie in memory.
#pragma once
#include <cstdint>
#include <vector>

#include "../../../device/attention_sight.h"
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
  const std::byte* mask;  // of the first query and key, or null
  int64_t maskStep;       // bytes from query to query
  int64_t numQueries;
  int64_t numKeys;  // none of the queries sees a key outside these
  // Places in the sequence, for the causal limit and the window.
  int64_t firstQuery;
  int64_t firstKey;
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
  /** A run of queries of one sequence. */
  struct Run {
    int64_t clip;
    int64_t across;               // the frame over space, the token over time
    int64_t begin, keyBegin;      // where the sequence begins along the axis
    int64_t firstQuery;           // in the sequence
    int64_t numQueries, numKeys;  // of the run, and of the whole sequence
  };
  void clear(int64_t clip, int64_t across, int64_t first, int64_t end) const;
  void add_packed(int64_t clip, int64_t across, int64_t maxQueries);
  void add_runs(Run run, int64_t queries, int64_t maxQueries);
  /** Pixel of element `i` along the axis of a tensor. */
  int64_t pixel(const Tensor& t, int64_t clip, int64_t across, int64_t i) const;
  /** Elements of a tensor from one element of the axis to the next. */
  int64_t step(const Tensor& t) const;

  AttentionArgs args_;
  bool overTime_;
  int64_t headDim_;
  device::AttentionSight sight_;
  std::vector<Run> runs_;
};

}  // namespace vd::cpu
