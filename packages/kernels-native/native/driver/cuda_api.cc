#include "cuda_api.h"

#include <cstring>

#include "dl.h"

namespace vd::driver {
namespace {

/** The version of the API whose forms cuda_api.h declares. */
constexpr int kApiVersion = 12040;

using GetProcAddress = Result(VD_DRIVER_CALL*)(const char*, void**, int, uint64_t, int*);

std::string too_old(int version) {
  const std::string found = version > 0 ? "supports CUDA " + version_text(version) : "is too old to tell its version";
  return "The NVIDIA driver " + found + "; CUDA " + version_text(kRequiredDriverVersion) + " is needed (driver " + kRequiredDriverRelease +
         " or newer).";
}

/** Fills the table; returns the first function that the driver lacks, or nullptr. */
const char* fill(Api& api, GetProcAddress find) {
  const char* missing = nullptr;
  const auto load = [&](auto& slot, const char* symbol) {
    void* address = nullptr;
    int status = 0;
    if (find(symbol, &address, kApiVersion, 0, &status) != kSuccess) address = nullptr;
    std::memcpy(&slot, &address, sizeof slot);
    if (address == nullptr && missing == nullptr) missing = symbol;
  };
#define VD_LOAD(entry, symbol, types) load(api.entry, symbol);
  VD_FOR_EACH_DRIVER_FUNCTION(VD_LOAD)
#undef VD_LOAD
  return missing;
}

std::string start(const Api& api) {
  const Result result = api.init(0);
  if (result == kSuccess) return {};
  if (result == kNoDevice) return "The NVIDIA driver finds no GPU.";
  const char* text = nullptr;
  if (api.error_text == nullptr || api.error_text(result, &text) != kSuccess || text == nullptr) text = "unknown";
  return "The NVIDIA driver does not start: " + std::string(text) + " (error " + std::to_string(result) + ").";
}

Driver load_driver() {
  Driver driver;
  std::string problem;
  void* library = open_driver_library(problem);
  if (library == nullptr) {
    driver.reason = "No NVIDIA driver: " + std::string(kLibraryName) + " could not be loaded (" + problem + ").";
    return driver;
  }
  const auto find = reinterpret_cast<GetProcAddress>(find_symbol(library, "cuGetProcAddress_v2"));
  if (find == nullptr) {
    const auto version = reinterpret_cast<Result(VD_DRIVER_CALL*)(int*)>(find_symbol(library, "cuDriverGetVersion"));
    if (version != nullptr) version(&driver.version);
    driver.reason = too_old(driver.version);
    return driver;
  }
  const char* missing = fill(driver.api, find);
  const Api& api = driver.api;
  if (api.driver_version != nullptr) api.driver_version(&driver.version);
  if (api.init == nullptr || api.device_count == nullptr || api.device_get == nullptr || api.device_name == nullptr) {
    driver.reason = "The NVIDIA driver lacks " + std::string(missing) + ".";
    return driver;
  }
  driver.reason = start(api);
  driver.canList = driver.reason.empty();
  if (driver.canList && driver.version < kRequiredDriverVersion) driver.reason = too_old(driver.version);
  else if (driver.canList && missing != nullptr) driver.reason = "The NVIDIA driver lacks " + std::string(missing) + ".";
  driver.usable = driver.reason.empty();
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

}  // namespace vd::driver
