// The CPU as a device: fast paths where there are any, the reference for everything else.
#pragma once
#include <memory>

#include "../core/program.h"
#include "cpu_features.h"

namespace vd::cpu {

struct DeviceOptions {
  /** Workers, the calling thread included. */
  int threads = 1;
  Target target;
  /** Run the plain references only: what the conformance suite compares with. */
  bool reference = false;
};

std::shared_ptr<Device> make_device(const DeviceOptions& options);

}  // namespace vd::cpu
