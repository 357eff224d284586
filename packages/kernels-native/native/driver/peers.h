// Direct access from one GPU to the memory of another.
#pragma once
#include "cuda_api.h"

namespace vd::driver {

/** Lets the calling thread's context reach the memory of `other` without a way through the host, where the hardware can: copies
 *  between the two are then as fast as their link. Costs next to nothing when it is so already. Returns whether it is. */
bool reach_peer(ContextHandle other);

}  // namespace vd::driver
