// Times of kernels as CUPTI's activity records have them, summed by name. The library is loaded if the machine has it.
// Source: https://docs.nvidia.com/cupti/api/group__CUPTI__ACTIVITY__API.html
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace vd::driver::cupti {

/** All launches of one kernel. */
struct KernelSum {
  std::string name;
  uint64_t count = 0;
  uint64_t totalNs = 0;
};

/** Begins to record the kernels that this process launches; tries the libraries in their order. Returns why nothing is
 *  recorded, empty if it is. A second call while it records does nothing. */
std::string start(const std::vector<std::string>& libraries);

/** Ends recording; what was recorded stays until it is taken. */
void stop();

/** What has been recorded since the last call. Kernels that have not ended are in a later one. */
std::vector<KernelSum> take();

/** NVTX ranges that CUPTI, being the tool that they are told to, has heard of since the last call. */
uint64_t take_ranges();

}  // namespace vd::driver::cupti
