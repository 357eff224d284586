// Parameters of the token_embed kernels, shared by host and device.
#pragma once
#include <cstdint>

namespace vd::device {

struct TokenEmbedParams {
  const void* x;
  const void* token;
  const void* position;
  void* y;
  int64_t rows, xPitch, yPitch;  // rows: tokens of the result over all frames
  int32_t tokensPerFrame;        // of the result: S + 1
  int32_t channels, xType, tokenType, positionType, yType;
};

}  // namespace vd::device
