// Device code loaded into a context.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cuda_api.h"

namespace vd::driver {

/** Loads machine code, a fatbin or the text of PTX, which is compiled here; the context must be current. Throws
 *  Error(unsupported|driver) with the compiler's messages. label: what is loaded. */
ModuleHandle load_module(const Api& api, const void* image, const std::string& label);

/** The kernels of one image file, which is fatbins one behind the other. Every member needs the context to be current. */
class ModuleSet {
 public:
  /** Loads all parts; PTX is compiled here. Throws Error(unsupported|driver|io). */
  ModuleSet(const Api& api, std::span<const std::byte> file, const std::string& label);
  ~ModuleSet();
  ModuleSet(const ModuleSet&) = delete;
  ModuleSet& operator=(const ModuleSet&) = delete;

  /** The kernel with this name, allowed to use `sharedBytes` of dynamic shared memory; nullptr when no part has it. */
  FunctionHandle find(const std::string& symbol, unsigned sharedBytes);

  /** Forgets the handles without telling the driver: their context is gone. */
  void abandon() { modules_.clear(); }

 private:
  struct Entry {
    ModuleHandle module = nullptr;
    /** Asked for when it is first used: until then the driver need not load it. */
    FunctionHandle function = nullptr;
    unsigned sharedBytes = 0;
  };
  void unload();
  void load(const std::byte* image, const std::string& label);
  void index(ModuleHandle module, const std::string& label);
  const Api& api_;
  std::mutex mutex_;
  std::vector<ModuleHandle> modules_;
  std::map<std::string, Entry> functions_;
};

}  // namespace vd::driver
