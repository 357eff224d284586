// A loop whose indices several threads share, once: the threads end with it.
#pragma once
#include <cstdint>
#include <functional>

namespace vd {

/** Calls `body(index)` once for each index in [0, count) and returns when all are done. The caller takes indices too, beside as many
 * threads as make `threads` of them, or as the system starts. Indices are begun in order. body: throws nothing. */
void share_out(int64_t count, int threads, const std::function<void(int64_t)>& body);

}  // namespace vd
