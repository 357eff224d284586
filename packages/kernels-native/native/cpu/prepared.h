// What a CPU implementation of an op gives to a program: a row made ready, to be run many times.
#pragma once
#include <cstddef>
#include <memory>

#include "../core/thread_pool.h"

namespace vd::cpu {

/** Memory that every run of a program shares: one block per worker and one for all, each as large as the largest request. */
struct Scratch {
  /** 64-byte aligned start of worker `i`'s block. */
  std::byte* (*block)(const Scratch&, int worker) = nullptr;
  void* owner = nullptr;
  /** 64-byte aligned start of the block for all workers. */
  std::byte* shared = nullptr;
  std::byte* of(int worker) const { return block(*this, worker); }
};

/** A row with its pointers resolved and its constant operands packed. */
class PreparedRow {
 public:
  virtual ~PreparedRow() = default;
  /** Which fast path computes the row, or `definition`. */
  virtual const char* name() const = 0;
  /** Bytes of scratch that each worker needs during run(). */
  virtual size_t scratch_bytes() const { return 0; }
  /** Bytes of scratch that all workers need together. */
  virtual size_t shared_bytes() const { return 0; }
  /** Computes the row; the result must not depend on the number of workers. Nothing here throws but std::bad_alloc. */
  virtual void run(ThreadPool& pool, const Scratch& scratch) = 0;
};

}  // namespace vd::cpu
