// The fused tail of conv and linear, as plain data shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

/** y = outScale · act(acc + bias + frameBias) + residualScale · residual + residual2Scale · residual2, or the 8-bit codes of that
 *  times 1 / yScale. Element types are values of vd::DType; an absent operand is a null pointer. */
struct Epilogue {
  const void* bias;       // [N] ([2N] with a gated activation: values, then gates)
  const void* frameBias;  // [1|B, 1|F, N]
  const void* residual;   // [pixels, N]
  const void* residual2;  // [pixels, N]
  void* y;                // [pixels, N]
  const float* yScale;    // one number: what codes stand for multiples of; 8-bit operands only
  int64_t residualPitch;
  int64_t residual2Pitch;
  int64_t yPitch;
  int64_t frameBiasBatchStride;  // elements, 0 when broadcast
  int64_t frameBiasFrameStride;
  int32_t n;                     // output channels (after a gated activation)
  int32_t framesPerBatch;
  int32_t pixelsPerFrame;
  int32_t act;                   // vd::Activation
  float outScale;
  float residualScale;
  float residual2Scale;
  uint8_t biasType;
  uint8_t frameBiasType;
  uint8_t residualType;
  uint8_t residual2Type;
  uint8_t yType;
  uint8_t vector;                // 1 when every operand allows 16-byte accesses at channels that are multiples of 8
};

}  // namespace vd::device
