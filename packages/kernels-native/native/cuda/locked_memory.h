// Host memory that a GPU reads and writes itself.
#pragma once
#include <memory>

#include "../core/memory.h"
#include "context.h"

namespace vd::cuda {

/** Zeroed host memory, page-locked where the driver agrees; where it does not, copies of it are staged as those of any other. */
class LockedMemory final : public vd::Memory {
 public:
  /** Touches the memory with several threads first: page-locking what was touched is many times faster. Throws Error(memory|driver). */
  LockedMemory(std::shared_ptr<Context> context, size_t bytes);
  ~LockedMemory() override;
  bool page_locked() const override { return locked_ && !context_->lost(); }
  void copy(size_t offset, const vd::Memory& source, size_t from, size_t bytes) override;

 private:
  /** Whether the driver has let go of the memory, or never had it. */
  bool unlock() noexcept;
  std::shared_ptr<Context> context_;
  bool locked_ = false;
};

}  // namespace vd::cuda
