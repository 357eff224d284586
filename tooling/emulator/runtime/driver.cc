// What the driver that stands in hands on: kernels by name, their launches, tensor maps. Finds kernels in the libraries beside this one.
#include <dirent.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tensor_map.h"
#include "threads.h"

namespace {

using vd::emulator::Kernel;
using vd::emulator::LaunchShape;

constexpr int kSuccess = 0, kInvalidValue = 1, kLaunchFailed = 719;

/** CUlaunchAttribute and CUlaunchConfig. */
struct Attribute {
  unsigned id, pad;
  union {
    unsigned cluster[3];
    int flag;
    char bytes[64];
  } value;
};
struct Config {
  unsigned grid[3], block[3], sharedBytes;
  void* stream;
  const Attribute* attributes;
  unsigned numAttributes;
};
constexpr unsigned kCooperative = 2, kClusterDimension = 4;

/** A kernel, and how its library runs it. */
struct Entry {
  const Kernel* kernel;
  vd::emulator::Library library;
};

std::vector<Entry> open_libraries() {
  Dl_info own;
  dladdr(reinterpret_cast<void*>(&open_libraries), &own);
  const std::string path = own.dli_fname, folder = path.substr(0, path.rfind('/'));
  std::vector<Entry> entries;
  DIR* files = opendir(folder.c_str());
  for (const dirent* file; files != nullptr && (file = readdir(files)) != nullptr;) {
    if (!std::string(file->d_name).ends_with(".kernels.so")) continue;
    void* library = dlopen((folder + "/" + file->d_name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      continue;
    }
    const auto found = reinterpret_cast<vd::emulator::Library (*)()>(dlsym(library, "emulator_library"))();
    for (const Kernel& kernel : *found.kernels) entries.push_back({&kernel, found});
  }
  if (files != nullptr) closedir(files);
  return entries;
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = open_libraries();
  return all;
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

/** How many kernels there are; the other functions number them from 0. */
API unsigned emulator_count() { return static_cast<unsigned>(entries().size()); }
API const char* emulator_name(unsigned index) { return entries()[index].kernel->name; }
API size_t emulator_params_bytes(unsigned index) { return entries()[index].kernel->paramsBytes; }

/** Runs a launch. config: a CUlaunchConfig. Says on standard error what went wrong. */
API int emulator_run(unsigned index, const void* rawConfig, const void* params) {
  const auto& [kernel, library] = entries()[index];
  const auto& config = *static_cast<const Config*>(rawConfig);
  LaunchShape shape = {{config.grid[0], config.grid[1], config.grid[2]}, config.block[0], 1, config.sharedBytes};
  for (unsigned i = 0; i < config.numAttributes; ++i) {
    const Attribute& attribute = config.attributes[i];
    if (attribute.id == kClusterDimension) shape.cluster = attribute.value.cluster[0];
    if (attribute.id == kCooperative && attribute.value.flag) shape.cluster = shape.grid[0] * shape.grid[1] * shape.grid[2];
  }
  if (shape.block > kernel->threads || shape.grid[0] % shape.cluster != 0) return kInvalidValue;
  // Tensor maps among the parameters are aligned to 64 bytes.
  std::vector<std::byte> room(kernel->paramsBytes + 64);
  void* aligned = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
  memcpy(aligned, params, kernel->paramsBytes);
  const std::string failure = library.run(*kernel, shape, aligned);
  if (failure.empty()) return kSuccess;
  fprintf(stderr, "%s: %s\n", kernel->name, failure.c_str());
  return kLaunchFailed;
}

/** cuTensorMapEncodeTiled, as far as maps are used. */
API int emulator_encode(void* map, int type, unsigned rank, void* base, const uint64_t* dims, const uint64_t* strideBytes,
                        const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int, int fill) {
  // CUtensorMapDataType from UINT8 on, CUtensorMapSwizzle.
  static constexpr uint8_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  static constexpr uint8_t kPatternBytes[] = {16, 32, 64, 128};
  if (rank < 1 || rank > 5 || type < 0 || type > 12 || swizzle < 0 || swizzle > 3 || interleave != 0 || fill != 0) return kInvalidValue;
  vd::emulator::TensorMapRecord record = {};
  record.base = reinterpret_cast<uint64_t>(base);
  record.rank = static_cast<uint8_t>(rank);
  record.elementBytes = kElementBytes[type];
  record.patternBytes = kPatternBytes[swizzle];
  if (record.base % 16 != 0) return kInvalidValue;
  for (unsigned i = 0; i < rank; ++i) {
    if (box[i] < 1 || box[i] > 256 || steps[i] < 1 || steps[i] > 8 || dims[i] < 1 || dims[i] > UINT32_MAX) return kInvalidValue;
    record.dims[i] = static_cast<uint32_t>(dims[i]);
    record.box[i] = static_cast<uint16_t>(box[i]);
    record.steps[i] = static_cast<uint8_t>(steps[i]);
    if (i + 1 < rank && strideBytes[i] % 16 != 0) return kInvalidValue;
    if (i + 1 < rank) record.strideBytes[i] = strideBytes[i];
  }
  if (record.box[0] * record.elementBytes % 16 != 0) return kInvalidValue;
  if (swizzle != 0 && record.box[0] * record.elementBytes > record.patternBytes) return kInvalidValue;
  memcpy(map, &record, sizeof record);
  return kSuccess;
}
