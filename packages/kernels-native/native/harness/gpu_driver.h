// The few driver calls the GPU bench needs, by dlopen: modules, memory, launches of plans, events.
#pragma once
#include <cuda.h>

#include <map>
#include <string>
#include <vector>

#include "../cuda/planning/launch.h"

namespace vd::harness {

/** Driver entry points, found by name. */
struct Driver {
  CUresult (*Init)(unsigned);
  CUresult (*DeviceGet)(CUdevice*, int);
  CUresult (*DeviceGetName)(char*, int, CUdevice);
  CUresult (*DeviceGetAttribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*DevicePrimaryCtxRetain)(CUcontext*, CUdevice);
  CUresult (*CtxSetCurrent)(CUcontext);
  CUresult (*ModuleLoadData)(CUmodule*, const void*);
  CUresult (*ModuleGetFunction)(CUfunction*, CUmodule, const char*);
  CUresult (*FuncSetAttribute)(CUfunction, CUfunction_attribute, int);
  CUresult (*MemAlloc)(CUdeviceptr*, size_t);
  CUresult (*MemcpyDtoH)(void*, CUdeviceptr, size_t);
  CUresult (*MemcpyHtoD)(CUdeviceptr, const void*, size_t);
  CUresult (*MemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
  CUresult (*StreamCreate)(CUstream*, unsigned);
  CUresult (*StreamSynchronize)(CUstream);
  CUresult (*EventCreate)(CUevent*, unsigned);
  CUresult (*EventRecord)(CUevent, CUstream);
  CUresult (*EventSynchronize)(CUevent);
  CUresult (*EventElapsedTime)(float*, CUevent, CUevent);
  CUresult (*LaunchKernelEx)(const CUlaunchConfig*, CUfunction, void**, void**);
  CUresult (*TensorMapEncodeTiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                                   const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  CUresult (*GetErrorString)(CUresult, const char**);
};

/** A plan with its packs made and its addresses written: launches ready to go. */
struct BoundPlan {
  struct Ready {
    CUfunction function;
    CUlaunchConfig config;
    CUlaunchAttribute attribute;
    std::vector<std::byte> params;
  };
  std::vector<Ready> ready;
};

class Gpu {
 public:
  explicit Gpu(const std::string& imageDir, size_t arenaBytes);
  cuda::DeviceInfo info;
  std::string name;
  /** Bump allocation, 256-byte aligned; reset() forgets all. */
  void* allocate(size_t bytes);
  void reset() { used_ = 0; }
  void fill(const Tensor& tensor, size_t elements, float mean, float scale, uint32_t seed);
  void poison(void* data, size_t bytes);
  /** Makes packs and workspace and resolves addresses. */
  BoundPlan bind(const cuda::Variant& plan);
  void run(BoundPlan& plan);
  void launch(const std::string& symbol, uint32_t blocks, uint32_t threads, const void* params, size_t bytes);
  void synchronize();
  void read(void* host, const void* device, size_t bytes);
  void write(void* device, const void* host, size_t bytes);
  /** Median µs of one run. */
  double time(BoundPlan& plan, int repeats);

 private:
  Driver driver_{};
  CUstream stream_{};
  CUevent start_{}, stop_{};
  CUdeviceptr arena_{};
  size_t used_ = 0, capacity_ = 0;
  std::vector<CUmodule> modules_;
  std::map<std::string, CUfunction> functions_;
  void load_driver();
  void load_images(const std::string& dir);
  CUfunction find(const std::string& symbol);
  BoundPlan::Ready make_ready(const cuda::Launch& launch, const std::vector<void*>& packs, void* workspace);
  void go(BoundPlan::Ready& ready);
  void check(CUresult result, const std::string& what);
};

}  // namespace vd::harness
