#include "cupti.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "dl.h"

namespace vd::driver::cupti {
namespace {

// What cupti_activity.h and cupti_result.h declare, in their numbers.
using Result = int;
constexpr Result kSuccess = 0;
constexpr int kConcurrentKernel = 10, kMarker = 12;
constexpr uint32_t kMarkerStart = 2;
constexpr size_t kBufferBytes = size_t{1} << 20;

#if defined(_WIN32)
#define VD_CUPTI_CALL __stdcall
#else
#define VD_CUPTI_CALL
#endif

/** The beginning of CUpti_ActivityKernel4 to 10, which is the same in all: CUDA 8 to 13. */
struct KernelRecord {
  uint32_t kind;
  uint8_t cacheConfig, sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedCacheRequested, partitionedCacheExecuted;
  uint64_t startNs, endNs, completedNs;
  uint32_t deviceId, contextId, streamId;
  int32_t grid[3], block[3];
  int32_t staticSharedMemory, dynamicSharedMemory;
  uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
  int64_t gridId;
  const char* name;
};
static_assert(offsetof(KernelRecord, startNs) == 16 && offsetof(KernelRecord, streamId) == 48);
static_assert(offsetof(KernelRecord, correlationId) == 92 && offsetof(KernelRecord, name) == 104);

/** The beginning of CUpti_ActivityMarker and CUpti_ActivityMarker2. */
struct MarkerRecord {
  uint32_t kind, flags;
};

using RequestBuffer = void(VD_CUPTI_CALL*)(uint8_t** buffer, size_t* bytes, size_t* maxRecords);
using CompleteBuffer = void(VD_CUPTI_CALL*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t validBytes);

struct Api {
  Result(VD_CUPTI_CALL* registerCallbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  Result(VD_CUPTI_CALL* enable)(int kind) = nullptr;
  Result(VD_CUPTI_CALL* disable)(int kind) = nullptr;
  Result(VD_CUPTI_CALL* flushAll)(uint32_t flag) = nullptr;
  Result(VD_CUPTI_CALL* nextRecord)(uint8_t* buffer, size_t validBytes, void** record) = nullptr;
  Result(VD_CUPTI_CALL* resultText)(Result, const char** text) = nullptr;
};

struct State {
  std::mutex mutex;
  Api api;
  bool loaded = false, records = false;
};

/** CUPTI calls back on threads of its own until the process ends: never destroyed. */
State& state() {
  static State* const made = new State();
  return *made;
}

struct Sums {
  std::mutex mutex;
  std::map<std::string, KernelSum> byName;
  uint64_t ranges = 0;
};

Sums& sums() {
  static Sums* const made = new Sums();
  return *made;
}

void VD_CUPTI_CALL request_buffer(uint8_t** buffer, size_t* bytes, size_t* maxRecords) {
  *buffer = static_cast<uint8_t*>(std::malloc(kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *maxRecords = 0;
}

void add(const void* any) {
  const auto& marker = *static_cast<const MarkerRecord*>(any);
  if (marker.kind == kMarker) sums().ranges += (marker.flags & kMarkerStart) != 0;
  const auto& record = *static_cast<const KernelRecord*>(any);
  if (record.kind != kConcurrentKernel || record.name == nullptr || record.endNs < record.startNs) return;
  KernelSum& sum = sums().byName[record.name];
  sum.count++;
  sum.totalNs += record.endNs - record.startNs;
}

void VD_CUPTI_CALL complete_buffer(void*, uint32_t, uint8_t* buffer, size_t, size_t validBytes) {
  {
    const std::lock_guard lock(sums().mutex);
    void* record = nullptr;
    while (validBytes > 0 && state().api.nextRecord(buffer, validBytes, &record) == kSuccess) add(record);
  }
  std::free(buffer);
}

std::string load(Api& api, const std::vector<std::string>& libraries) {
  std::string problems;
  for (const std::string& path : libraries) {
    std::string problem;
    void* library = open_library(path, problem);
    if (library == nullptr) {
      problems += (problems.empty() ? "" : "; ") + problem;
      continue;
    }
    bool complete = true;
    const auto find = [&](auto& slot, const char* name) {
      slot = reinterpret_cast<std::decay_t<decltype(slot)>>(find_symbol(library, name));
      complete = complete && slot != nullptr;
    };
    find(api.registerCallbacks, "cuptiActivityRegisterCallbacks");
    find(api.enable, "cuptiActivityEnable");
    find(api.disable, "cuptiActivityDisable");
    find(api.flushAll, "cuptiActivityFlushAll");
    find(api.nextRecord, "cuptiActivityGetNextRecord");
    find(api.resultText, "cuptiGetResultString");
    if (complete) return {};
    problems += (problems.empty() ? "" : "; ") + path + " is no CUPTI";
  }
  return "CUPTI could not be loaded (" + problems + ").";
}

std::string refused(const Api& api, const char* what, Result result) {
  const char* text = nullptr;
  if (api.resultText(result, &text) != kSuccess || text == nullptr) text = "unknown";
  return std::string("CUPTI does not ") + what + ": " + text + " (error " + std::to_string(result) + ").";
}

}  // namespace

std::string start(const std::vector<std::string>& libraries) {
  const std::lock_guard lock(state().mutex);
  Api& api = state().api;
  if (!state().loaded) {
    std::string problem = load(api, libraries);
    if (!problem.empty()) return problem;
    if (const Result result = api.registerCallbacks(request_buffer, complete_buffer); result != kSuccess)
      return refused(api, "start", result);
    state().loaded = true;
  }
  if (state().records) return {};
  // Only heard of where CUPTI is the tool that NVTX_INJECTION64_PATH names; without it there are none.
  api.enable(kMarker);
  if (const Result result = api.enable(kConcurrentKernel); result != kSuccess) return refused(api, "record kernels", result);
  state().records = true;
  return {};
}

void stop() {
  const std::lock_guard lock(state().mutex);
  if (!state().records) return;
  state().api.flushAll(0);
  state().api.disable(kConcurrentKernel);
  state().api.disable(kMarker);
  state().records = false;
}

static void flush() {
  const std::lock_guard lock(state().mutex);
  if (state().records) state().api.flushAll(0);
}

uint64_t take_ranges() {
  flush();
  const std::lock_guard lock(sums().mutex);
  return std::exchange(sums().ranges, 0);
}

std::vector<KernelSum> take() {
  flush();
  const std::lock_guard lock(sums().mutex);
  std::vector<KernelSum> all;
  for (auto& [name, sum] : sums().byName) {
    all.push_back(std::move(sum));
    all.back().name = name;
  }
  sums().byName.clear();
  std::sort(all.begin(), all.end(), [](const KernelSum& a, const KernelSum& b) { return a.totalNs > b.totalNs; });
  return all;
}

}  // namespace vd::driver::cupti
