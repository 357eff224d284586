#include "context.h"

#include <algorithm>
#include <iterator>

#include "../../device/matmul_sm90.h"
#include "../core/memory.h"

namespace vd::cuda {
namespace {

driver::DeviceProperties choose(const ContextOptions& options) {
  const std::string where = "cuda";
  if (!driver::driver().canList)
    throw Error(ErrorCode::unsupported, where, "a usable GPU", driver::driver().reason, "Use the CPU: device \"cpu\".");
  std::vector<driver::DeviceProperties> devices = driver::list_devices(options.imageDir);
  if (options.index < 0 || options.index >= static_cast<int>(devices.size()))
    throw Error(ErrorCode::unsupported, where, "the number of a GPU below " + std::to_string(devices.size()),
                std::to_string(options.index));
  driver::DeviceProperties& chosen = devices[static_cast<size_t>(options.index)];
  if (!chosen.usable)
    throw Error(ErrorCode::unsupported, where, "a usable GPU", chosen.name + ": " + chosen.reason, "Use the CPU: device \"cpu\".");
  if (options.image.empty()) return chosen;
  std::string known;
  for (const driver::Image& image : driver::images_for(chosen.major, chosen.minor, options.imageDir)) {
    if (image.name == options.image) {
      chosen.image = image;
      return chosen;
    }
    known += (known.empty() ? "" : ", ") + image.name;
  }
  throw Error(ErrorCode::attr, "cuda image", "one of " + known, options.image);
}

}  // namespace

Context::Context(const ContextOptions& options, bool after_loss) : api_(driver::driver().api), properties_(choose(options)) {
  check(api_.device_get(&device_, options.index), "open device");
  if (after_loss) api_.primary_context_reset(device_);
  check(api_.primary_context_retain(&handle_, device_), "open device");
  try {
    enter("open device");
    const std::string path = driver::image_path(options.imageDir, properties_.image);
    const std::shared_ptr<vd::Memory> file = map_file(path);
    modules_.emplace(api_, std::span<const std::byte>(file->data(), file->bytes()), path);
    compiled_.emplace(api_, driver::template_path(options.imageDir, properties_.image));
  } catch (...) {
    api_.primary_context_release(device_);
    throw;
  }
  fill_info();
  if (info_.hasWgmma) count_clusters();
}

Context::~Context() {
  if (modules_ && (lost() || api_.context_set_current(handle_) != driver::kSuccess)) {
    modules_->abandon();
    compiled_->abandon();
  }
  compiled_.reset();
  modules_.reset();
  api_.primary_context_release(device_);
}

void Context::fill_info() {
  info_.smVersion = properties_.image.smVersion;
  info_.hasWgmma = properties_.image.name == "sm_90a";
  info_.hasTemplates = compiled_->available();
  info_.numSms = properties_.numSms;
  info_.sharedBytesPerBlock = properties_.sharedBytesPerBlock;
  info_.l2Bytes = properties_.l2Bytes;
}

void Context::count_clusters() {
  const device::MatmulTile& tile = *std::find_if(std::begin(device::kMatmulTiles), std::end(device::kMatmulTiles),
                                                 [](const device::MatmulTile& t) { return t.kernel == device::MatmulKernel::split; });
  if (api_.max_active_clusters == nullptr) return;
  const auto bytes = static_cast<unsigned>(device::matmul_shared_bytes(tile, 1));
  const driver::FunctionHandle kernel = modules_->find(std::string("linear_sm90_f16_") + tile.name, bytes);
  if (kernel == nullptr) return;
  for (unsigned blocks = 2; blocks < std::size(info_.clusters); ++blocks) {
    driver::LaunchAttribute size = {};
    size.id = driver::kClusterDimension;
    size.value.cluster[0] = blocks;
    size.value.cluster[1] = size.value.cluster[2] = 1;
    const driver::LaunchConfig config = {{blocks, 1, 1}, {device::kMatmulThreads, 1, 1}, bytes, nullptr, &size, 1};
    int count = 0;
    if (api_.max_active_clusters(&count, kernel, &config) == driver::kSuccess) info_.clusters[blocks] = count;
  }
}

void Context::enter(const std::string& where) {
  if (lost())
    throw Error(ErrorCode::driver, where, "a working device", "one that was lost",
                "Everything on it is gone; the next plan opens it anew.");
  check(api_.context_set_current(handle_), where);
}

void Context::check(driver::Result result, const std::string& where) {
  if (result == driver::kSuccess) return;
  if (driver::loses_device(result)) lost_.store(true, std::memory_order_relaxed);
  throw driver::error_of(api_, result, where);
}

driver::FunctionHandle Context::find(const std::string& symbol, unsigned sharedBytes, const std::string& where) {
  if (driver::FunctionHandle function = modules_->find(symbol, sharedBytes)) return function;
  throw Error(ErrorCode::unsupported, where, "a kernel " + symbol + " in " + image() + ".fatbin", "none",
              "Device code and addon come from different builds: run `pnpm build:cubins`.");
}

std::shared_ptr<const CompiledKernel> Context::compile(const Launch& launch, const std::string& where) {
  enter(where);
  return compiled_->find_or_compile(launch, where);
}

driver::DevicePtr Context::allocate(size_t bytes, const std::string& where) {
  driver::DevicePtr address = 0;
  driver::Result result = api_.memory_allocate(&address, bytes);
  if (result == driver::kOutOfMemory && reclaim_ && reclaim_()) result = api_.memory_allocate(&address, bytes);
  if (result == driver::kOutOfMemory) {
    size_t free_bytes = 0, total_bytes = 0;
    api_.memory_info(&free_bytes, &total_bytes);
    throw Error(ErrorCode::memory, where, std::to_string(bytes) + " bytes of free device memory",
                std::to_string(free_bytes) + " of " + std::to_string(total_bytes),
                "Use fewer frames, a smaller size or a smaller decode chunk.");
  }
  check(result, where);
  return address;
}

void Context::free(driver::DevicePtr address) noexcept {
  if (address == 0 || lost() || api_.context_set_current(handle_) != driver::kSuccess) return;
  if (const driver::Result result = api_.memory_free(address); driver::loses_device(result)) lost_.store(true, std::memory_order_relaxed);
}

void Context::on_shortage(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

}  // namespace vd::cuda
