// Memory for a moment, which is used again: the system takes longer to give new pages than it takes to fill them.
#pragma once
#include <cstddef>
#include <memory>

namespace vd {

/** Memory of at least `bytes` that nobody else has until the last owner lets go of it, on any thread; what is in there is anything. Throws
 * std::bad_alloc. */
std::shared_ptr<std::byte[]> borrow_memory(size_t bytes);

}  // namespace vd
