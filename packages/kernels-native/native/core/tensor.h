// A typed view of memory as ops see it: dimensions, and one freedom, the pixel pitch.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../generated/dtype.h"
#include "../generated/limits.h"

namespace vd {

/** Elements with the last dimension contiguous; all leading dimensions are packed and step by `pitch` elements.
 *  Element (i, c) of a tensor whose leading dimensions flatten to i lies at data + (i * pitch + c) * itemsize. */
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  /** Elements from one pixel (or token) to the next; at least the last dimension. */
  int64_t pitch = 0;
  /** True when the contents never change during the life of the program: a backend may pack them once. */
  bool constant = false;

  bool present() const { return data != nullptr; }
  int64_t dim(int i) const { return dims[i]; }
  int64_t channels() const { return dims[rank - 1]; }
  /** Product of all dimensions but the last. */
  int64_t pixels() const {
    int64_t n = 1;
    for (int i = 0; i + 1 < rank; ++i) n *= dims[i];
    return n;
  }
  int64_t count() const { return pixels() * channels(); }

  template <class T>
  T* as() const { return static_cast<T*>(data); }
};

}  // namespace vd
