// Turns the numbers that JavaScript sends into rows, or throws: after this, kernels check nothing but ragged edges.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory.h"
#include "row.h"

namespace vd {

/** A block that rows may address. */
struct BufferBinding {
  std::shared_ptr<Memory> memory;
  /** Contents never change while the program lives. */
  bool constant = false;
};

/** Numbers per tensor in the encoding: buffer (-1 absent), byte offset, dtype, rank, kMaxRank dimensions, pitch. */
inline constexpr int kTensorWords = 5 + kMaxRank;

/** Decodes and checks a program: per row the op's number, its attributes, its tensors (see kTensorWords).
 *  Throws Error naming the row and the argument. */
std::vector<Row> decode_rows(std::span<const double> words, const std::vector<std::string>& names,
                             const std::vector<BufferBinding>& buffers);

}  // namespace vd
