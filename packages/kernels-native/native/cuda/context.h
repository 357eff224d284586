// A GPU opened for use: its primary context, its kernels, and what it says when something goes wrong.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "../driver/device.h"
#include "../driver/error.h"
#include "../driver/module.h"
#include "compiled_kernels.h"
#include "planning/launch.h"

namespace vd::cuda {

/** Which GPU, and which of the device codes that it runs. */
struct ContextOptions {
  int index = 0;
  /** Folder of the device code. */
  std::string imageDir;
  /** Name of an image, e.g. `compute_75` to run another architecture's kernels through PTX; empty for the best. */
  std::string image;
};

class Context {
 public:
  /** Opens the GPU. `after_loss`: first ends what is left of a context that was lost. Throws Error(unsupported|driver). */
  explicit Context(const ContextOptions& options, bool after_loss = false);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const driver::Api& api() const { return api_; }
  driver::ContextHandle handle() const { return handle_; }
  const DeviceInfo& info() const { return info_; }
  const std::string& image() const { return properties_.image.name; }

  /** Makes the calling thread use this context. Throws Error(driver) if it was lost. */
  void enter(const std::string& where);
  /** Throws the error of a result that is no success; remembers a lost device. */
  void check(driver::Result result, const std::string& where);
  /** True after a result that ended the context. */
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

  /** A kernel by name. Throws Error(unsupported) naming `where` when the image lacks it. */
  driver::FunctionHandle find(const std::string& symbol, unsigned sharedBytes, const std::string& where);

  /** The kernel of a launch with an expression, compiled unless that was done lately. Any thread may call it. Throws
   *  Error(unsupported|driver|io) naming `where`. */
  std::shared_ptr<const CompiledKernel> compile(const Launch& launch, const std::string& where);

  /** Device memory, uninitialised, 256-byte aligned. Tries once more after `reclaim`. Throws Error(memory). */
  driver::DevicePtr allocate(size_t bytes, const std::string& where);
  void free(driver::DevicePtr address) noexcept;
  /** What to do when memory runs out: returns true if something was let go. */
  void on_shortage(std::function<bool()> reclaim);

 private:
  void fill_info();
  void count_clusters();
  const driver::Api& api_;
  driver::DeviceProperties properties_;
  driver::DeviceHandle device_ = 0;
  driver::ContextHandle handle_ = nullptr;
  std::optional<driver::ModuleSet> modules_;
  std::optional<CompiledKernels> compiled_;
  DeviceInfo info_;
  std::function<bool()> reclaim_;
  std::atomic<bool> lost_{false};
};

}  // namespace vd::cuda
