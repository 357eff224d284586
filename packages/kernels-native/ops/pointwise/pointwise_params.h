// Parameters of the pointwise kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct PointwiseParams {
  const void* a;
  const void* b;
  const void* c;
  const void* frameBias;
  void* y;
  int64_t pixels, aPitch, bPitch, cPitch, yPitch, frameBiasBatchStride, frameBiasFrameStride;
  int32_t channels, framesPerBatch, pixelsPerFrame, act;
  int32_t aType, bType, cType, frameBiasType, yType;
  float aScale, bScale;
};

}  // namespace vd::device
