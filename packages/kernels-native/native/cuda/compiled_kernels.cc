#include "compiled_kernels.h"

#include <algorithm>

#include "../core/memory.h"
#include "../driver/error.h"

namespace vd::cuda {
namespace {

/** What a kernel is made of, as one text. */
std::string key_of(const Launch& launch) {
  std::string key = launch.symbol + " " + std::to_string(launch.expression->result);
  for (const ExpressionStep& step : launch.expression->steps)
    for (const std::string& part : {step.function, std::to_string(step.inputs[0]), std::to_string(step.inputs[1])})
      key.append(" ").append(part);
  return key;
}

}  // namespace

CompiledKernels::~CompiledKernels() {
  for (const Entry& entry : kernels_) api_.module_unload(entry.kernel->module);
}

std::shared_ptr<const CompiledKernel> CompiledKernels::find_or_compile(const Launch& launch, const std::string& where) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(launch);
  const auto found = std::find_if(kernels_.begin(), kernels_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found != kernels_.end()) {
    kernels_.splice(kernels_.begin(), kernels_, found);
  } else {
    kernels_.push_front({key, std::make_shared<const CompiledKernel>(compile(launch, where))});
  }
  // Held here, it counts as used.
  std::shared_ptr<const CompiledKernel> kernel = kernels_.front().kernel;
  unload_unused();
  return kernel;
}

CompiledKernel CompiledKernels::compile(const Launch& launch, const std::string& where) {
  if (!templates_) {
    const std::shared_ptr<vd::Memory> file = map_file(path_);
    templates_.emplace(std::string_view(reinterpret_cast<const char*>(file->data()), file->bytes()));
  }
  const std::string text = templates_->complete(launch.symbol, *launch.expression);
  CompiledKernel kernel;
  kernel.module = driver::load_module(api_, text.c_str(), where);
  const driver::Result result = api_.module_function(&kernel.function, kernel.module, launch.symbol.c_str());
  if (result == driver::kSuccess) return kernel;
  api_.module_unload(kernel.module);
  throw driver::error_of(api_, result, where);
}

void CompiledKernels::unload_unused() {
  size_t num_unused = 0;
  for (auto entry = kernels_.begin(); entry != kernels_.end();) {
    const bool is_unused = entry->kernel.use_count() == 1;
    if (!is_unused || ++num_unused <= kMostUnused) {
      ++entry;
      continue;
    }
    api_.module_unload(entry->kernel->module);
    entry = kernels_.erase(entry);
  }
}

}  // namespace vd::cuda
