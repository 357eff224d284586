#include "gpu_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "gpu_reference.h"

namespace vd::harness {

void Gpu::check(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "?";
  if (driver_.GetErrorString) driver_.GetErrorString(result, &text);
  throw std::runtime_error(what + ": " + text);
}

void Gpu::load_driver() {
  void* lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (!lib) throw std::runtime_error("libcuda.so.1 not found");
  const auto get = [&](auto& slot, const char* symbol) {
    slot = reinterpret_cast<std::decay_t<decltype(slot)>>(dlsym(lib, symbol));
    if (!slot) throw std::runtime_error(std::string("no ") + symbol);
  };
  get(driver_.Init, "cuInit");
  get(driver_.DeviceGet, "cuDeviceGet");
  get(driver_.DeviceGetName, "cuDeviceGetName");
  get(driver_.DeviceGetAttribute, "cuDeviceGetAttribute");
  get(driver_.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  get(driver_.CtxSetCurrent, "cuCtxSetCurrent");
  get(driver_.ModuleLoadData, "cuModuleLoadData");
  get(driver_.ModuleGetFunction, "cuModuleGetFunction");
  get(driver_.FuncSetAttribute, "cuFuncSetAttribute");
  get(driver_.MemAlloc, "cuMemAlloc_v2");
  get(driver_.MemcpyDtoH, "cuMemcpyDtoH_v2");
  get(driver_.MemcpyHtoD, "cuMemcpyHtoD_v2");
  get(driver_.MemsetD8Async, "cuMemsetD8Async");
  get(driver_.StreamCreate, "cuStreamCreate");
  get(driver_.StreamSynchronize, "cuStreamSynchronize");
  get(driver_.EventCreate, "cuEventCreate");
  get(driver_.EventRecord, "cuEventRecord");
  get(driver_.EventSynchronize, "cuEventSynchronize");
  get(driver_.EventElapsedTime, "cuEventElapsedTime");
  get(driver_.LaunchKernelEx, "cuLaunchKernelEx");
  get(driver_.TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  get(driver_.GetErrorString, "cuGetErrorString");
}

void Gpu::load_images(const std::string& dir) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.path().extension() == ".cubin" || entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::string image((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    CUmodule module;
    check(driver_.ModuleLoadData(&module, image.c_str()), "load " + file.string());
    modules_.push_back(module);
  }
}

Gpu::Gpu(const std::string& imageDir, size_t arenaBytes) {
  load_driver();
  check(driver_.Init(0), "cuInit");
  CUdevice device;
  check(driver_.DeviceGet(&device, 0), "cuDeviceGet");
  char text[128];
  driver_.DeviceGetName(text, sizeof text, device);
  name = text;
  CUcontext context;
  check(driver_.DevicePrimaryCtxRetain(&context, device), "context");
  check(driver_.CtxSetCurrent(context), "context");
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check(driver_.DeviceGetAttribute(&value, which, device), "attribute");
    return value;
  };
  info.numSms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.sharedBytesPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.l2Bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.smVersion = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.hasWgmma = info.smVersion == 90;
  check(driver_.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
  check(driver_.EventCreate(&start_, 0), "event");
  check(driver_.EventCreate(&stop_, 0), "event");
  check(driver_.MemAlloc(&arena_, arenaBytes), "arena");
  capacity_ = arenaBytes;
  load_images(imageDir);
}

void* Gpu::allocate(size_t bytes) {
  const size_t at = used_;
  used_ += (bytes + 255) / 256 * 256 + 256;
  if (used_ > capacity_) throw std::runtime_error("arena too small");
  return reinterpret_cast<void*>(arena_ + at);
}

CUfunction Gpu::find(const std::string& symbol) {
  auto found = functions_.find(symbol);
  if (found != functions_.end()) return found->second;
  for (CUmodule module : modules_) {
    CUfunction function;
    if (driver_.ModuleGetFunction(&function, module, symbol.c_str()) == CUDA_SUCCESS) return functions_[symbol] = function;
  }
  throw std::runtime_error("no kernel " + symbol);
}

void Gpu::fill(const Tensor& tensor, size_t elements, float mean, float scale, uint32_t seed) {
  FillParams p{tensor.data, static_cast<int64_t>(elements), mean, scale, seed, static_cast<int32_t>(tensor.dtype)};
  launch("harness_fill", 2048, 256, &p, sizeof p);
}

void Gpu::poison(void* data, size_t bytes) {
  check(driver_.MemsetD8Async(reinterpret_cast<CUdeviceptr>(data), 0xff, bytes, stream_), "poison");
}

BoundPlan::Ready Gpu::make_ready(const cuda::Launch& launch, const std::vector<void*>& packs, void* workspace) {
  BoundPlan::Ready r{};
  r.function = find(launch.symbol);
  r.params = launch.params;
  const auto resolve = [&](const cuda::Address& a) -> uint64_t {
    if (a.base == cuda::AddressBase::absolute) return a.value;
    void* base = a.base == cuda::AddressBase::workspace ? workspace : packs.at(a.pack);
    return reinterpret_cast<uint64_t>(base) + a.value;
  };
  for (const cuda::Relocation& relocation : launch.relocations) {
    const uint64_t address = resolve(relocation.address);
    std::memcpy(r.params.data() + relocation.paramOffset, &address, 8);
  }
  for (const cuda::TensorMapRequest& m : launch.maps) {
    alignas(64) CUtensorMap map;
    const CUtensorMapDataType type = m.dtype == DType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                     : m.dtype == DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    const CUtensorMapSwizzle swizzle = m.swizzleBytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : m.swizzleBytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                       : m.swizzleBytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_NONE;
    const auto describe = [&] {
      std::string s = "tensor map of " + launch.symbol + ":";
      for (int i = 0; i < m.rank; ++i)
        s += " " + std::to_string(m.dims[i]) + "/" + std::to_string(m.box[i]) + "/" + std::to_string(i ? m.strideBytes[i - 1] : 0);
      return s;
    };
    check(driver_.TensorMapEncodeTiled(&map, type, m.rank, reinterpret_cast<void*>(resolve(m.base)), reinterpret_cast<const cuuint64_t*>(m.dims),
                                       reinterpret_cast<const cuuint64_t*>(m.strideBytes), m.box, m.elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                       swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          describe());
    std::memcpy(r.params.data() + m.paramOffset, &map, sizeof map);
  }
  r.config.gridDimX = launch.grid[0];
  r.config.gridDimY = launch.grid[1];
  r.config.gridDimZ = launch.grid[2];
  r.config.blockDimX = launch.block;
  r.config.blockDimY = r.config.blockDimZ = 1;
  r.config.sharedMemBytes = launch.sharedBytes;
  r.config.hStream = stream_;
  r.attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  r.attribute.value.clusterDim = {launch.cluster, 1, 1};
  r.config.numAttrs = launch.cluster > 1 ? 1 : 0;
  if (launch.sharedBytes > 0)
    check(driver_.FuncSetAttribute(r.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.sharedBytes),
          "shared memory of " + launch.symbol);
  return r;
}

void Gpu::go(BoundPlan::Ready& r) {
  r.config.attrs = &r.attribute;
  void* params[] = {r.params.data()};
  check(driver_.LaunchKernelEx(&r.config, r.function, params, nullptr), "launch");
}

BoundPlan Gpu::bind(const cuda::Variant& plan) {
  std::vector<void*> packs;
  for (const cuda::Pack& pack : plan.packs) packs.push_back(allocate(pack.bytes));
  void* workspace = plan.workspaceBytes ? allocate(plan.workspaceBytes) : nullptr;
  if (workspace) poison(workspace, plan.workspaceBytes);
  for (const cuda::Pack& pack : plan.packs)
    for (const cuda::Launch& launch : pack.launches) {
      BoundPlan::Ready r = make_ready(launch, packs, workspace);
      go(r);
    }
  BoundPlan bound;
  for (const cuda::Launch& launch : plan.launches) bound.ready.push_back(make_ready(launch, packs, workspace));
  return bound;
}

void Gpu::run(BoundPlan& plan) {
  for (BoundPlan::Ready& r : plan.ready) go(r);
}

void Gpu::launch(const std::string& symbol, uint32_t blocks, uint32_t threads, const void* params, size_t bytes) {
  BoundPlan::Ready r{};
  r.function = find(symbol);
  r.params.assign(static_cast<const std::byte*>(params), static_cast<const std::byte*>(params) + bytes);
  r.config.gridDimX = blocks;
  r.config.gridDimY = r.config.gridDimZ = r.config.blockDimY = r.config.blockDimZ = 1;
  r.config.blockDimX = threads;
  r.config.hStream = stream_;
  go(r);
}

void Gpu::synchronize() { check(driver_.StreamSynchronize(stream_), "synchronize"); }

void Gpu::read(void* host, const void* device, size_t bytes) {
  synchronize();
  check(driver_.MemcpyDtoH(host, reinterpret_cast<CUdeviceptr>(device), bytes), "read");
}

void Gpu::write(void* device, const void* host, size_t bytes) {
  synchronize();
  check(driver_.MemcpyHtoD(reinterpret_cast<CUdeviceptr>(device), host, bytes), "write");
}

double Gpu::time(BoundPlan& plan, int repeats) {
  const auto batch = [&](int runs) {
    check(driver_.EventRecord(start_, stream_), "event");
    for (int i = 0; i < runs; ++i) run(plan);
    check(driver_.EventRecord(stop_, stream_), "event");
    check(driver_.EventSynchronize(stop_), "event");
    float ms = 0;
    check(driver_.EventElapsedTime(&ms, start_, stop_), "event");
    return ms * 1000.0 / runs;
  };
  batch(2);
  const double guess = batch(2);
  const int runs = guess < 100 ? 20 : guess < 400 ? 5 : 1;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(batch(runs));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace vd::harness
