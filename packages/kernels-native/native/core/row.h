// One call of an op with everything resolved: what the validator lets through.
#pragma once
#include <string>
#include <vector>

#include "tensor.h"

namespace vd {

/** Offsets of packed sequences among a row's tensors. They are data that may change, so they are checked before each run. */
struct PackedOffsets {
  /** Position in Row::tensors. */
  int tensor = 0;
  /** Where the last sequence may end. */
  int64_t limit = 0;
};

struct Row {
  /** Position in kOps. */
  int op = 0;
  /** The recorded name, for messages and reports. */
  std::string name;
  /** Attribute values in the contract's order; a list takes one slot per element. */
  std::vector<double> attrs;
  /** Inputs then outputs in the contract's order; absent ones have no data. */
  std::vector<Tensor> tensors;
  /** Of the tensors that are present. */
  std::vector<PackedOffsets> offsets;
};

}  // namespace vd
