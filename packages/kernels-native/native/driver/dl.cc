#include "dl.h"

#include <filesystem>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace vd::driver {

#if defined(_WIN32)

const char* const kLibraryName = "nvcuda.dll";

void* open_driver_library(std::string& problem) {
  // From the system's folder only: a library of that name beside the program is not the driver.
  void* library = reinterpret_cast<void*>(LoadLibraryExA(kLibraryName, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32));
  if (library == nullptr) problem = "Windows error " + std::to_string(GetLastError());
  return library;
}

void* open_library(const std::string& path, std::string& problem) {
  void* library = reinterpret_cast<void*>(LoadLibraryW(std::filesystem::path(std::u8string(path.begin(), path.end())).c_str()));
  if (library == nullptr) problem = "Windows error " + std::to_string(GetLastError());
  return library;
}

void* find_symbol(void* library, const char* name) { return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name)); }

#else

const char* const kLibraryName = "libcuda.so.1";

void* open_driver_library(std::string& problem) { return open_library(kLibraryName, problem); }

void* open_library(const std::string& path, std::string& problem) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = dlerror();
    problem = text != nullptr ? text : "not found";
  }
  return library;
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

#endif

}  // namespace vd::driver
