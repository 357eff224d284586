// Ranges for NVIDIA's tools (Nsight Systems and others), by NVTX's injection interface: the tool names a library of its
// own, which we load and hand a table of slots that it fills. Nothing of NVIDIA's is linked.
// Source: NVIDIA/NVTX@v3.2.1 c/include/nvtx3/nvtxDetail/{nvtxInit.h,nvtxTypes.h}
#pragma once
#include <cstdint>
#include <string>

namespace vd::driver::nvtx {

/** Loads the tool's library, once; later calls do nothing. Returns why nobody listens, empty if somebody does. */
std::string start(const std::string& path);

/** True if a tool has attached itself. */
bool listens();

/** Opens a range that may end on another thread; 0 if nobody listens. */
uint64_t range_start(const char* name);

/** Ends a range of range_start. */
void range_end(uint64_t id);

/** A range of this thread for as long as it lives: kernels launched meanwhile belong to it. */
class Range {
 public:
  explicit Range(const std::string& name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  bool pushed_;
};

}  // namespace vd::driver::nvtx
