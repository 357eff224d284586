// Kernels that the driver compiles while plans are loaded: templates with a plan's own expressions.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "../driver/module.h"
#include "planning/kernel_templates.h"

namespace vd::cuda {

/** A kernel that was compiled, for as long as the context lives that it was compiled in. */
struct CompiledKernel {
  driver::ModuleHandle module = nullptr;
  driver::FunctionHandle function = nullptr;
};

/** The compiled kernels of a context, by what is in them. Those that programs use stay, and of the others the kMostUnused used last. */
class CompiledKernels {
 public:
  static constexpr size_t kMostUnused = 64;

  /** path: of the templates' text, read when it is first needed; empty where there is none. */
  CompiledKernels(const driver::Api& api, std::string path) : api_(api), path_(std::move(path)) {}
  ~CompiledKernels();
  CompiledKernels(const CompiledKernels&) = delete;
  CompiledKernels& operator=(const CompiledKernels&) = delete;

  /** Whether there are templates. */
  bool available() const { return !path_.empty(); }
  /** The kernel of a launch that has an expression. Any thread may call it, with the context current; what one compiles, others wait for.
   *  Throws Error(unsupported|driver|io) naming `where`. */
  std::shared_ptr<const CompiledKernel> find_or_compile(const Launch& launch, const std::string& where);
  /** Forgets all kernels without telling the driver: their context is gone. */
  void abandon() { kernels_.clear(); }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const CompiledKernel> kernel;
  };
  CompiledKernel compile(const Launch& launch, const std::string& where);
  void unload_unused();

  const driver::Api& api_;
  const std::string path_;
  std::mutex mutex_;
  std::optional<KernelTemplates> templates_;
  /** The one used last comes first. */
  std::list<Entry> kernels_;
};

}  // namespace vd::cuda
