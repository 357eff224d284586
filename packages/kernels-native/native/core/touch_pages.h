// First touches of host memory, at which the operating system gives it, by several threads.
#pragma once
#include <cstddef>

namespace vd {

/** Threads that copy or touch host memory together: one does either more slowly than the bus moves bytes. */
int copying_threads();

/** Touches every page of memory that may be written. The bytes stay as they are, also beside others who write them. */
void touch_pages(std::byte* data, size_t bytes);

}  // namespace vd
