// The CUDA driver API as far as it is used, declared here so that no CUDA header is needed, and the table of its entry
// points. Names, values and layouts: https://docs.nvidia.com/cuda/cuda-driver-api.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace vd::driver {

using Result = int;
using DeviceHandle = int;
using DevicePtr = uint64_t;
using ContextHandle = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using GraphExecHandle = struct GraphExecTag*;

inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kNotFound = 500, kNotReady = 600;

/** CUdevice_attribute. */
enum class Attribute : int {
  multiprocessors = 16,
  l2_bytes = 38,
  major = 75,
  minor = 76,
  shared_bytes_per_block_optin = 97,
};

inline constexpr int kMaxDynamicSharedBytes = 8;       // CUfunction_attribute
inline constexpr unsigned kStreamNonBlocking = 1;      // CUstream_flags
inline constexpr unsigned kHostRegisterPortable = 1;   // CU_MEMHOSTREGISTER
inline constexpr unsigned kEventDisableTiming = 2;     // CUevent_flags
inline constexpr int kCaptureThreadLocal = 1;          // CUstreamCaptureMode
inline constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;  // CUjit_option
inline constexpr unsigned kCooperative = 2, kClusterDimension = 4, kProgrammaticSerialization = 6;  // CUlaunchAttributeID

/** CUlaunchAttribute. */
struct LaunchAttribute {
  unsigned id;
  unsigned pad;
  union {
    unsigned cluster[3];
    int cooperative, programmaticSerialization;
    char bytes[64];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute is 8 + 64 bytes");

/** CUlaunchConfig. */
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56, "CUlaunchConfig has two pointers behind seven words");

// Table entry, driver function, parameter types. The version asked for decides which form of a function is meant.
#define VD_FOR_EACH_DRIVER_FUNCTION(X)                                                                             \
  X(init, "cuInit", (unsigned))                                                                                    \
  X(driver_version, "cuDriverGetVersion", (int*))                                                                  \
  X(device_count, "cuDeviceGetCount", (int*))                                                                      \
  X(device_get, "cuDeviceGet", (DeviceHandle*, int))                                                               \
  X(device_name, "cuDeviceGetName", (char*, int, DeviceHandle))                                                    \
  X(device_attribute, "cuDeviceGetAttribute", (int*, Attribute, DeviceHandle))                                     \
  X(device_total_memory, "cuDeviceTotalMem", (size_t*, DeviceHandle))                                              \
  X(error_name, "cuGetErrorName", (Result, const char**))                                                          \
  X(error_text, "cuGetErrorString", (Result, const char**))                                                        \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (ContextHandle*, DeviceHandle))                            \
  X(primary_context_release, "cuDevicePrimaryCtxRelease", (DeviceHandle))                                          \
  X(primary_context_reset, "cuDevicePrimaryCtxReset", (DeviceHandle))                                              \
  X(context_set_current, "cuCtxSetCurrent", (ContextHandle))                                                       \
  X(module_load, "cuModuleLoadDataEx", (ModuleHandle*, const void*, unsigned, int*, void**))                       \
  X(module_unload, "cuModuleUnload", (ModuleHandle))                                                               \
  X(module_function, "cuModuleGetFunction", (FunctionHandle*, ModuleHandle, const char*))                          \
  X(module_function_count, "cuModuleGetFunctionCount", (unsigned*, ModuleHandle))                                  \
  X(module_functions, "cuModuleEnumerateFunctions", (FunctionHandle*, unsigned, ModuleHandle))                     \
  X(function_name, "cuFuncGetName", (const char**, FunctionHandle))                                                \
  X(function_set_attribute, "cuFuncSetAttribute", (FunctionHandle, int, int))                                      \
  X(memory_info, "cuMemGetInfo", (size_t*, size_t*))                                                               \
  X(memory_allocate, "cuMemAlloc", (DevicePtr*, size_t))                                                           \
  X(memory_free, "cuMemFree", (DevicePtr))                                                                         \
  X(host_allocate, "cuMemHostAlloc", (void**, size_t, unsigned))                                                   \
  X(host_free, "cuMemFreeHost", (void*))                                                                           \
  X(host_register, "cuMemHostRegister", (void*, size_t, unsigned))                                                 \
  X(host_unregister, "cuMemHostUnregister", (void*))                                                               \
  X(copy_to_device, "cuMemcpyHtoDAsync", (DevicePtr, const void*, size_t, StreamHandle))                           \
  X(copy_to_host, "cuMemcpyDtoHAsync", (void*, DevicePtr, size_t, StreamHandle))                                   \
  X(copy_on_device, "cuMemcpyDtoDAsync", (DevicePtr, DevicePtr, size_t, StreamHandle))                             \
  X(copy_to_peer, "cuMemcpyPeerAsync", (DevicePtr, ContextHandle, DevicePtr, ContextHandle, size_t, StreamHandle)) \
  X(fill_bytes, "cuMemsetD8Async", (DevicePtr, unsigned char, size_t, StreamHandle))                               \
  X(stream_create, "cuStreamCreateWithPriority", (StreamHandle*, unsigned, int))                                   \
  X(stream_destroy, "cuStreamDestroy", (StreamHandle))                                                             \
  X(stream_synchronize, "cuStreamSynchronize", (StreamHandle))                                                     \
  X(stream_wait_event, "cuStreamWaitEvent", (StreamHandle, EventHandle, unsigned))                                 \
  X(stream_begin_capture, "cuStreamBeginCapture", (StreamHandle, int))                                             \
  X(stream_end_capture, "cuStreamEndCapture", (StreamHandle, GraphHandle*))                                        \
  X(event_create, "cuEventCreate", (EventHandle*, unsigned))                                                       \
  X(event_destroy, "cuEventDestroy", (EventHandle))                                                                \
  X(event_record, "cuEventRecord", (EventHandle, StreamHandle))                                                    \
  X(event_query, "cuEventQuery", (EventHandle))                                                                    \
  X(event_synchronize, "cuEventSynchronize", (EventHandle))                                                        \
  X(event_elapsed_ms, "cuEventElapsedTime", (float*, EventHandle, EventHandle))                                    \
  X(launch_kernel, "cuLaunchKernelEx", (const LaunchConfig*, FunctionHandle, void**, void**))                      \
  X(max_active_clusters, "cuOccupancyMaxActiveClusters", (int*, FunctionHandle, const LaunchConfig*))              \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (GraphExecHandle*, GraphHandle, unsigned long long))         \
  X(graph_upload, "cuGraphUpload", (GraphExecHandle, StreamHandle))                                                \
  X(graph_launch, "cuGraphLaunch", (GraphExecHandle, StreamHandle))                                                \
  X(graph_destroy, "cuGraphDestroy", (GraphHandle))                                                                \
  X(graph_exec_destroy, "cuGraphExecDestroy", (GraphExecHandle))                                                   \
  X(tensor_map_encode, "cuTensorMapEncodeTiled",                                                                   \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, int))

#if defined(_WIN32)
#define VD_DRIVER_CALL __stdcall
#else
#define VD_DRIVER_CALL
#endif

/** Entry points of the driver; those that it lacks are null. */
struct Api {
#define VD_DECLARE(entry, symbol, types) Result(VD_DRIVER_CALL* entry) types = nullptr;
  VD_FOR_EACH_DRIVER_FUNCTION(VD_DECLARE)
#undef VD_DECLARE
};

/** The driver of this machine. */
struct Driver {
  Api api;
  /** 1000 * major + 10 * minor of the newest CUDA that it supports; 0 without a driver. */
  int version = 0;
  bool usable = false;
  /** Why it cannot be used, as a sentence for the user. */
  std::string reason;
  /** Set when the driver is too old or incomplete, though it may still name its devices. */
  bool canList = false;
};

/** Device code is built with this CUDA version: older drivers do not load it. */
inline constexpr int kRequiredDriverVersion = 13000;
/** The first driver release that supports it. */
inline constexpr const char* kRequiredDriverRelease = "580";

/** Loads the driver at the first call; never throws. The only global of the native side. */
const Driver& driver();

/** `13.0` for 13000. */
std::string version_text(int version);

}  // namespace vd::driver
