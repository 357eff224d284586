#include "error.h"

namespace vd::driver {
namespace {

constexpr Result kInvalidImage = 200, kNoBinaryForGpu = 209, kEccUncorrectable = 214, kInvalidPtx = 218, kNvlinkUncorrectable = 220,
                 kJitCompilerNotFound = 221, kUnsupportedPtxVersion = 222, kJitDisabled = 223, kContained = 226, kDeviceUnavailable = 46,
                 kIllegalAddress = 700, kLaunchTimeout = 702, kContextDestroyed = 709, kAssert = 710, kHardwareStack = 714,
                 kLaunchFailed = 719, kTensorMemoryLeak = 721, kNotSupported = 801, kUnknown = 999;

bool is_unsupported(Result result) {
  switch (result) {
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kInvalidPtx:
    case kJitCompilerNotFound:
    case kUnsupportedPtxVersion:
    case kJitDisabled:
    case kNotSupported: return true;
    default: return false;
  }
}

}  // namespace

std::string describe(const Api& api, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name == nullptr || api.error_name(result, &name) != kSuccess || name == nullptr) name = "driver error";
  if (api.error_text == nullptr || api.error_text(result, &text) != kSuccess || text == nullptr) text = "no description";
  return std::string(name) + " (" + std::to_string(result) + "): " + text;
}

bool loses_device(Result result) {
  switch (result) {
    case kDeviceUnavailable:
    case kEccUncorrectable:
    case kNvlinkUncorrectable:
    case kContained:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextDestroyed:
    case kAssert:
    case kTensorMemoryLeak:
    case kUnknown: return true;
    default: return result >= kHardwareStack && result <= kLaunchFailed;
  }
}

Error error_of(const Api& api, Result result, const std::string& where) {
  const std::string got = describe(api, result);
  if (result == kOutOfMemory)
    return Error(ErrorCode::memory, where, "enough free memory on the device", got,
                 "Use fewer frames, a smaller size or a smaller decode chunk.");
  if (is_unsupported(result)) return Error(ErrorCode::unsupported, where, "code that the device runs", got, "Update the NVIDIA driver.");
  if (loses_device(result))
    return Error(ErrorCode::driver, where, "a working device", got,
                 "The device was lost with everything on it; the next plan opens it anew.");
  return Error(ErrorCode::driver, where, "a call that succeeds", got);
}

}  // namespace vd::driver
