// What the definitions of attention and of its gradients share: which keys a query has, and its mask.
#pragma once
#include <algorithm>
#include <limits>

#include "reference.h"

namespace vd::cpu {

/** The sequence of a query: where its keys lie, and the query's place in it. */
struct KeySequence {
  int64_t first;       // pixel of the axis's key 0
  int64_t step;        // pixels from key to key
  int64_t begin, end;  // keys of the sequence
  int64_t place;       // of the query
};

/** The sequence of query (b, f, s). */
template <class Args> KeySequence sequence_of(const Args& a, int64_t b, int64_t f, int64_t s) {
  const int64_t Fk = a.k.dims[1], L = a.k.dims[2];
  const bool time = a.axis == AttentionAxis::time;
  const int64_t first = time ? b * Fk * L + s : (b * Fk + (Fk == 1 ? 0 : f)) * L, step = time ? L : 1;
  const int64_t place = time ? f : s, numKeys = time ? Fk : L;
  if (!a.cuQ.present()) return {first, step, 0, numKeys, place};
  const auto* q = a.cuQ.template as<int32_t>();
  const auto* k = a.cuK.template as<int32_t>();
  // Offsets are checked before a run, but they are memory that may be written during it.
  const auto held = [numKeys](int32_t offset) { return std::clamp<int64_t>(offset, 0, numKeys); };
  for (int64_t n = 0; n + 1 < a.cuQ.dims[0]; ++n) {
    const int64_t q0 = q[n], q1 = q[n + 1];
    if (place >= q0 && place < q1) return {first, step, held(k[n]), held(k[n + 1]), place - std::max<int64_t>(q0, 0)};
  }
  return {first, step, 0, 0, 0};
}

/** What is added to the score of the axis's query and key: a u8 of 0 forbids. */
template <class Args> float mask_of(const Args& a, int64_t b, int64_t h, int64_t query, int64_t key) {
  if (!a.mask.present()) return 0;
  const auto at_most = [&](int dim, int64_t i) { return a.mask.dims[dim] == 1 ? 0 : i; };
  const int64_t row = (at_most(0, b) * a.mask.dims[1] + at_most(1, h)) * a.mask.dims[2] + at_most(2, query);
  if (a.mask.dtype == DType::u8)
    return a.mask.template as<uint8_t>()[row * a.mask.pitch + key] ? 0 : -std::numeric_limits<float>::infinity();
  return at(a.mask, row, key);
}

}  // namespace vd::cpu
