#include "device.h"

#include <filesystem>

namespace vd::driver {
namespace {

/** The first compute capability that the kernels support. */
constexpr int kOldestCapability = 75;
/** PTX is built for these; newer GPUs compile it when it is loaded. */
constexpr int kPtxVersions[] = {80, 75};

std::filesystem::path path_of(const std::string& utf8) { return std::filesystem::path(std::u8string(utf8.begin(), utf8.end())); }

std::string path_in(const std::string& folder, const std::string& name) {
  const std::u8string text = (path_of(folder) / name).u8string();
  return std::string(text.begin(), text.end());
}

int attribute(const Api& api, Attribute which, DeviceHandle device) {
  int value = 0;
  return api.device_attribute(&value, which, device) == kSuccess ? value : 0;
}

std::string size_text(size_t bytes) { return std::to_string((bytes + (size_t{1} << 29)) >> 30) + " GiB"; }

/** Fills in whether the device can be used and why. */
void decide_usable(DeviceProperties& p, const std::string& imageDir) {
  const std::string capability = std::to_string(p.major) + "." + std::to_string(p.minor);
  if (p.major * 10 + p.minor < kOldestCapability) {
    p.reason = "Compute capability " + capability + "; 7.5 or newer is needed.";
    return;
  }
  const std::vector<Image> images = images_for(p.major, p.minor, imageDir);
  if (images.empty()) {
    p.reason = "There is no device code for compute capability " + capability + " in " + imageDir +
               ". Install @vd/kernels-cuda, or build it in a checkout with `pnpm build:cubins`, which needs nvcc.";
    return;
  }
  p.usable = true;
  p.image = images.front();
  p.reason = "Compute capability " + capability + ", " + size_text(p.totalBytes) + ", driver for CUDA " + version_text(driver().version) +
             ", " + p.image.name + " kernels.";
}

void read_properties(const Api& api, DeviceHandle device, DeviceProperties& p) {
  p.major = attribute(api, Attribute::major, device);
  p.minor = attribute(api, Attribute::minor, device);
  p.numSms = attribute(api, Attribute::multiprocessors, device);
  p.l2Bytes = static_cast<size_t>(attribute(api, Attribute::l2_bytes, device));
  p.sharedBytesPerBlock = static_cast<size_t>(attribute(api, Attribute::shared_bytes_per_block_optin, device));
  if (api.device_total_memory(&p.totalBytes, device) != kSuccess) p.totalBytes = 0;
}

DeviceProperties properties_of(int index, const std::string& imageDir) {
  const Api& api = driver().api;
  DeviceProperties p;
  p.index = index;
  DeviceHandle device = 0;
  char name[256] = {};
  if (api.device_get(&device, index) != kSuccess || api.device_name(name, sizeof name - 1, device) != kSuccess) {
    p.name = "GPU " + std::to_string(index);
    p.reason = "The driver does not tell what it is.";
    return p;
  }
  p.name = name;
  if (!driver().usable) {
    p.reason = driver().reason;
    return p;
  }
  read_properties(api, device, p);
  decide_usable(p, imageDir);
  return p;
}

}  // namespace

std::string image_path(const std::string& imageDir, const Image& image) { return path_in(imageDir, image.name + ".fatbin"); }

std::string template_path(const std::string& imageDir, const Image& image) {
  std::error_code ignored;
  for (const int version : kPtxVersions) {
    const std::string path = path_in(imageDir, "compute_" + std::to_string(version) + ".ptx");
    if (version <= image.smVersion && std::filesystem::exists(path_of(path), ignored)) return path;
  }
  return {};
}

std::vector<Image> images_for(int major, int minor, const std::string& imageDir) {
  std::vector<Image> candidates;
  const int version = major * 10 + minor;
  candidates.push_back({"sm_" + std::to_string(version) + "a", version});
  // Machine code runs on later minor versions of the same major one.
  for (int m = minor; m >= 0; --m) candidates.push_back({"sm_" + std::to_string(major * 10 + m), major * 10 + m});
  for (const int ptx : kPtxVersions)
    if (ptx <= version) candidates.push_back({"compute_" + std::to_string(ptx), ptx});
  std::vector<Image> found;
  std::error_code ignored;
  for (Image& image : candidates)
    if (std::filesystem::exists(path_of(image_path(imageDir, image)), ignored)) found.push_back(std::move(image));
  return found;
}

std::vector<DeviceProperties> list_devices(const std::string& imageDir) {
  std::vector<DeviceProperties> devices;
  if (!driver().canList) return devices;
  int count = 0;
  if (driver().api.device_count(&count) != kSuccess) return devices;
  for (int i = 0; i < count; ++i) devices.push_back(properties_of(i, imageDir));
  return devices;
}

}  // namespace vd::driver
