#include "offsets.h"

#include "error.h"
#include "op_table.h"

namespace vd {

std::string tensor_label(const Row& row, int tensor) {
  const OpRow& op = *kOps[row.op];
  return row.name + "] [" + op.id + "] [" + op.tensors[tensor].name;
}

void check_offsets(std::span<const int32_t> values, int64_t limit, const std::string& where) {
  int32_t last = 0;
  for (const int32_t value : values) {
    if (value < last || value > limit)
      throw Error(ErrorCode::attr, where, "offsets that never fall and end at most at " + std::to_string(limit), std::to_string(value));
    last = value;
  }
}

}  // namespace vd
