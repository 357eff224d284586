// Queries and keys as the products take them: float32, normalised and rotated.
#pragma once
#include <vector>

#include "../../../native/core/thread_pool.h"
#include "../../../native/generated/op_args.h"

namespace vd::cpu {

/** What is done to the heads of a tensor [B,F,S,E]; absent tensors leave them as they are. */
struct HeadTransform {
  Tensor norm;    // [D]
  Tensor rotary;  // [places, R]
  float eps;
  RotaryPairs pairs;
  AttentionAxis axis;  // along which places are counted
  int64_t heads;

  static HeadTransform of_queries(const AttentionArgs& a) { return {a.normQ, a.rotaryQ, a.normEps, a.pairs, a.axis, a.heads}; }
  static HeadTransform of_keys(const AttentionArgs& a) { return {a.normK, a.rotaryK, a.normEps, a.pairs, a.axis, a.heads}; }
  bool changes() const { return norm.present() || rotary.present(); }
};

/** Writes `x` to `out`, packed: heads divided by their root mean square and weighted, then their pairs of channels rotated. */
void transform_heads(const Tensor& x, const HeadTransform& transform, float* out, ThreadPool& pool);

}  // namespace vd::cpu
