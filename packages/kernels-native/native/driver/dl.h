// The driver's shared library; the only code here that knows the operating system.
#pragma once
#include <string>

namespace vd::driver {

/** What the NVIDIA driver's library is called on this system. */
extern const char* const kLibraryName;

/** The driver's library, loaded for the life of the process, or nullptr with the system's reason in `problem`. */
void* open_driver_library(std::string& problem);

/** Any library by its path, loaded for the life of the process, or nullptr with the system's reason in `problem`. */
void* open_library(const std::string& path, std::string& problem);

/** An exported function of the library, or nullptr. */
void* find_symbol(void* library, const char* name);

}  // namespace vd::driver
