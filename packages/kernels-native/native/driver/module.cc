#include "module.h"

#include <cstring>

#include "error.h"

namespace vd::driver {
namespace {

/** Start of every fatbin. Source: CUDA's fatbinary_section.h, struct fatBinaryHeader. */
struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t bodyBytes;
};
constexpr uint32_t kFatbinMagic = 0xBA55ED50;
constexpr size_t kFatbinAlignment = 16;
constexpr size_t kLogBytes = 8192;

/** Starts of the fatbins in a file. Throws Error(io) for anything else. */
std::vector<size_t> parts_of(std::span<const std::byte> file, const std::string& label) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < file.size();) {
    FatbinHeader header{};
    if (file.size() - at >= sizeof header) std::memcpy(&header, file.data() + at, sizeof header);
    if (header.magic != kFatbinMagic || header.headerBytes < sizeof header || header.bodyBytes > file.size() - at ||
        header.headerBytes > file.size() - at - header.bodyBytes)
      throw Error(ErrorCode::io, label, "device code", "a damaged file",
                  "Build it again with `pnpm build:cubins`, or reinstall the package.");
    starts.push_back(at);
    const size_t end = at + header.headerBytes + static_cast<size_t>(header.bodyBytes);
    at = (end + kFatbinAlignment - 1) / kFatbinAlignment * kFatbinAlignment;
  }
  return starts;
}

}  // namespace

ModuleHandle load_module(const Api& api, const void* image, const std::string& label) {
  char log[kLogBytes] = {};
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(kLogBytes)};
  ModuleHandle module = nullptr;
  const Result result = api.module_load(&module, image, 2, options, values);
  if (result == kSuccess) return module;
  const Error error = error_of(api, result, label);
  log[kLogBytes - 1] = '\0';
  if (log[0] == '\0') throw error;
  throw Error(error.code, error.where, error.expected, error.got + ": " + log, error.hint);
}

ModuleSet::ModuleSet(const Api& api, std::span<const std::byte> file, const std::string& label) : api_(api) {
  try {
    for (const size_t start : parts_of(file, label)) load(file.data() + start, label);
  } catch (...) {
    unload();
    throw;
  }
}

ModuleSet::~ModuleSet() { unload(); }

void ModuleSet::unload() {
  for (ModuleHandle module : modules_) api_.module_unload(module);
  modules_.clear();
}

void ModuleSet::load(const std::byte* image, const std::string& label) {
  ModuleHandle module = load_module(api_, image, label);
  modules_.push_back(module);
  index(module, label);
}

/** Notes which kernels a module has. */
void ModuleSet::index(ModuleHandle module, const std::string& label) {
  const auto check = [&](Result result) {
    if (result != kSuccess) throw error_of(api_, result, label);
  };
  unsigned count = 0;
  check(api_.module_function_count(&count, module));
  std::vector<FunctionHandle> functions(count);
  if (count > 0) check(api_.module_functions(functions.data(), count, module));
  for (FunctionHandle function : functions) {
    const char* name = nullptr;
    check(api_.function_name(&name, function));
    functions_[name].module = module;
  }
}

FunctionHandle ModuleSet::find(const std::string& symbol, unsigned sharedBytes) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(symbol);
  if (found == functions_.end()) return nullptr;
  Entry& entry = found->second;
  if (entry.function == nullptr) {
    const Result result = api_.module_function(&entry.function, entry.module, symbol.c_str());
    if (result != kSuccess) throw error_of(api_, result, symbol);
  }
  if (sharedBytes > entry.sharedBytes) {
    const Result result = api_.function_set_attribute(entry.function, kMaxDynamicSharedBytes, static_cast<int>(sharedBytes));
    if (result != kSuccess) throw error_of(api_, result, symbol + " with " + std::to_string(sharedBytes) + " bytes of shared memory");
    entry.sharedBytes = sharedBytes;
  }
  return entry.function;
}

}  // namespace vd::driver
