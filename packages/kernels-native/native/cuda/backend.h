// A GPU as a device.
#pragma once
#include <memory>

#include "../core/program.h"
#include "context.h"

namespace vd::cuda {

/** A GPU, opened by prepare() or the first use, which throws Error(unsupported) saying why it cannot be used. A device
 *  that is lost opens itself anew with the next plan or allocation; what was on it is gone. */
std::shared_ptr<Device> make_device(const ContextOptions& options);

}  // namespace vd::cuda
