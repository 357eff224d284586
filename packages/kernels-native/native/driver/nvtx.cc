#include "nvtx.h"

#include <atomic>
#include <cstddef>
#include <mutex>

#include "dl.h"

namespace vd::driver::nvtx {
namespace {

// What nvtxTypes.h declares, in its numbers.
using Slot = void (*)();
constexpr uint32_t kCallbacksTable = 1, kVersionTable = 3;
constexpr uint32_t kNvtxVersion = 3;
constexpr int kNumModules = 7, kMaxSlots = 16;
constexpr int kCore = 1;
/** Functions of each module, the unused number 0 included: none, core, CUDA, OpenCL, CUDA runtime, core 2, sync. */
constexpr unsigned kModuleSizes[kNumModules] = {0, 16, 9, 15, 7, 16, 7};
enum CoreFunction { kRangeStartA = 5, kRangeEnd = 7, kRangePushA = 9, kRangePop = 11 };

#if defined(_WIN32)
#define VD_NVTX_CALL __stdcall
#else
#define VD_NVTX_CALL
#endif

using RangeStartA = uint64_t(VD_NVTX_CALL*)(const char*);
using RangeEnd = void(VD_NVTX_CALL*)(uint64_t);
using RangePushA = int(VD_NVTX_CALL*)(const char*);
using RangePop = int(VD_NVTX_CALL*)();
using Initialise = int(VD_NVTX_CALL*)(const void*(VD_NVTX_CALL*)(uint32_t));

struct CallbacksTable {
  size_t structSize;
  int(VD_NVTX_CALL* moduleTable)(int module, Slot*** table, unsigned* size);
};

struct VersionTable {
  size_t structSize;
  uint32_t version, reserved;
  void(VD_NVTX_CALL* setInjectionVersion)(uint32_t);
};

/** The tool writes its functions into the slots; what it leaves out stays empty. */
Slot g_slots[kNumModules][kMaxSlots];
/** Per module, the addresses of its slots and an empty one at the end, as the interface wants them. */
Slot* g_tables[kNumModules][kMaxSlots + 1];
std::atomic<bool> g_listens{false};

int VD_NVTX_CALL module_table(int module, Slot*** table, unsigned* size) {
  if (module <= 0 || module >= kNumModules) return 0;
  for (unsigned i = 1; i < kModuleSizes[module]; ++i) g_tables[module][i] = &g_slots[module][i];
  if (table != nullptr) *table = g_tables[module];
  if (size != nullptr) *size = kModuleSizes[module];
  return 1;
}

void VD_NVTX_CALL set_injection_version(uint32_t) {}

const void* VD_NVTX_CALL export_table(uint32_t id) {
  static const CallbacksTable callbacks = {sizeof(CallbacksTable), module_table};
  static const VersionTable version = {sizeof(VersionTable), kNvtxVersion, 0, set_injection_version};
  if (id == kCallbacksTable) return &callbacks;
  return id == kVersionTable ? &version : nullptr;
}

template <class Function> Function slot(CoreFunction which) { return reinterpret_cast<Function>(g_slots[kCore][which]); }

std::string load(const std::string& path) {
  std::string problem;
  void* library = open_library(path, problem);
  if (library == nullptr) return path + " could not be loaded (" + problem + ").";
  const auto initialise = reinterpret_cast<Initialise>(find_symbol(library, "InitializeInjectionNvtx2"));
  if (initialise == nullptr) return path + " is no tool's library: it has no InitializeInjectionNvtx2.";
  if (initialise(export_table) == 0) return path + " refused to start.";
  g_listens.store(true, std::memory_order_release);
  return {};
}

}  // namespace

std::string start(const std::string& path) {
  static std::once_flag once;
  static std::string reason;
  std::call_once(once, [&] { reason = load(path); });
  return reason;
}

bool listens() { return g_listens.load(std::memory_order_acquire); }

uint64_t range_start(const char* name) {
  const auto function = listens() ? slot<RangeStartA>(kRangeStartA) : nullptr;
  return function != nullptr ? function(name) : 0;
}

void range_end(uint64_t id) {
  const auto function = listens() ? slot<RangeEnd>(kRangeEnd) : nullptr;
  if (function != nullptr) function(id);
}

Range::Range(const std::string& name) : pushed_(false) {
  const auto function = listens() ? slot<RangePushA>(kRangePushA) : nullptr;
  if (function == nullptr) return;
  function(name.c_str());
  pushed_ = true;
}

Range::~Range() {
  const auto function = pushed_ ? slot<RangePop>(kRangePop) : nullptr;
  if (function != nullptr) function();
}

}  // namespace vd::driver::nvtx
