// One call of an op with everything resolved: what the validator lets through.
#pragma once
#include <string>
#include <vector>

#include "tensor.h"

namespace vd {

struct Row {
  /** Position in kOps. */
  int op = 0;
  /** The recorded name, for messages and reports. */
  std::string name;
  /** Attribute values in the contract's order; a list takes one slot per element. */
  std::vector<double> attrs;
  /** Inputs then outputs in the contract's order; absent ones have no data. */
  std::vector<Tensor> tensors;
};

}  // namespace vd
