// Where threads run.
#pragma once
#include <vector>

namespace vd {

/** A number by which other threads of the process can place the calling one; 0 where systems have none. */
int thread_number();

/** The processor that the calling thread runs on; -1 where it cannot be told. */
int current_processor();

/** How many processors the calling thread may run on; the machine's where systems do not say. At least 1. */
int usable_processors();

/** Lets threads run wherever the caller may, but not on `processor`. Leaves them where they are if there is no other or the system does
 *  not allow it. */
void keep_off(int processor, const std::vector<int>& threads);

}  // namespace vd
