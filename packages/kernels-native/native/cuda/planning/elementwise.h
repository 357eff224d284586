// Launch of kernels that compute each element, or each run of eight, on its own.
#pragma once
#include <algorithm>

#include "candidates.h"

namespace vd::cuda {

/** Blocks beyond this many go on with further elements. */
inline constexpr int64_t kMaxElementwiseBlocks = int64_t{1} << 20;

/** Adds a variant of one launch over `count` work items, a thread each. overlapped: of a kernel that waits for the launch before. */
template <class Params>
void add_elementwise(const std::string& symbol, int64_t count, const Params& params, Candidates& out, bool overlapped = false) {
  Launch launch;
  launch.symbol = symbol;
  launch.block = 256;
  launch.grid[0] = static_cast<uint32_t>(std::min(ceil_div(count, 256), kMaxElementwiseBlocks));
  launch.overlapped = overlapped;
  launch.set_params(params);
  out.add({symbol, 0, {}, {std::move(launch)}});
}

/** The only kernel of an op: an element a thread. */
template <class Params>
Candidates elementwise_candidates(const std::string& symbol, int64_t count, const Params& params, const PlanningOptions& options) {
  Candidates out(options);
  add_elementwise(symbol, count, params, out);
  return out;
}

/** The kernel of an op that takes eight elements a thread, or with a reason against it the one that takes them one by one.
 *  symbols: of both; count: elements; overlapped: they wait for the launch before. */
template <class Params>
Candidates run_candidates(const std::string& vectorSymbol, const std::string& scalarSymbol, const Reason& againstVector, int64_t count,
                          const Params& params, const PlanningOptions& options, bool overlapped = false) {
  Candidates out(options);
  if (out.allows({vectorSymbol}, againstVector)) {
    add_elementwise(vectorSymbol, count / 8, params, out, overlapped);
    out.reject({scalarSymbol}, kScalarReason);
  } else {
    add_elementwise(scalarSymbol, count, params, out, overlapped);
  }
  return out;
}

}  // namespace vd::cuda
