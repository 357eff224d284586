// Cases of the GPU bench: rows on random data, with what checks them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gpu_driver.h"
#include "gpu_reference.h"

namespace vd::harness {

/** One row: `build` allocates and fills its tensors on the device. */
struct Case {
  std::string op, name;
  bool bench = false;  // a shape of the model, timed; otherwise a small shape that only has to be right
  double flops = 0;
  std::function<void(Gpu&, ReferenceParams&)> build;
  std::function<std::vector<cuda::Variant>(const ReferenceParams&, const cuda::DeviceInfo&)> plan;
};

std::vector<Case> all_cases();

}  // namespace vd::harness
