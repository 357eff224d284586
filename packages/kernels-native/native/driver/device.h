// The GPUs of this machine and the device code that suits each.
#pragma once
#include <string>
#include <vector>

#include "cuda_api.h"

namespace vd::driver {

/** A file of device code. */
struct Image {
  /** `sm_90a` for machine code, `compute_80` for PTX; the file is `<name>.fatbin`. */
  std::string name;
  /** major * 10 + minor of what it was built for. */
  int smVersion = 0;
};

/** One GPU, usable or not. */
struct DeviceProperties {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;
  size_t totalBytes = 0;
  int numSms = 1;
  size_t sharedBytesPerBlock = 49152;
  size_t l2Bytes = 0;
  bool usable = false;
  /** Why not, or what it offers, as a sentence. */
  std::string reason;
  /** The code it runs, when usable. */
  Image image;
};

/** The GPUs of this machine. imageDir: folder of the device code. Empty without a driver or a GPU; driver().reason then
 *  says why. Never throws. */
std::vector<DeviceProperties> list_devices(const std::string& imageDir);

/** The device code in `imageDir` that a GPU of the given compute capability runs, best first. */
std::vector<Image> images_for(int major, int minor, const std::string& imageDir);

/** Path of an image's file, UTF-8. */
std::string image_path(const std::string& imageDir, const Image& image);

/** Path of the newest text of kernels in `imageDir` that an image's architecture runs, UTF-8; empty where there is none. */
std::string template_path(const std::string& imageDir, const Image& image);

}  // namespace vd::driver
