// Offsets of packed sequences, which are data: they can only be checked when they are there.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "row.h"

namespace vd {

/** Returns what messages call a tensor of a row: `row] [op] [tensor`. */
std::string tensor_label(const Row& row, int tensor);

/** Throws Error(attr) naming `where` unless `values` begin at 0 or later, never fall and end at most at `limit`. */
void check_offsets(std::span<const int32_t> values, int64_t limit, const std::string& where);

}  // namespace vd
