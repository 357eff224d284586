// Parameters of the denoise_input kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct DenoiseInputParams {
  const void* latents;
  const void* image;
  const float* inputScale;
  void* y;
  int64_t pixels, pixelsPerFrame;  // pixels: of one row
  int64_t latentsPitch, imagePitch, yPitch;
  int32_t rows, latentChannels, channels;
  int32_t latentsType, imageType, yType;
};

}  // namespace vd::device
