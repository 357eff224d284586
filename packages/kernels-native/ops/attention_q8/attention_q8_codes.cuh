// What the kernels that make codes and scales of attention_q8 share.
#pragma once
#include "../../device/attention_q8.h"
#include "../../device/kernel.cuh"
#include "../../device/quantized.cuh"

namespace vd::device {

/** The larger of two numbers, NaN where one is. */
__device__ __forceinline__ float larger_or_nan(float a, float b) { return a != a || b != b ? NAN : fmaxf(a, b); }

/** The scale of a head's codes, NaN for NaN. */
__device__ __forceinline__ float head_code_scale(float magnitude, bool isInt8) {
  return magnitude != magnitude ? magnitude : code_scale(magnitude, isInt8);
}

/** Where row `row` of 16 lies among the columns of transposed values: lane t of a quad holds rows 2t, 2t + 1, 2t + 8, 2t + 9. */
__device__ __forceinline__ int place_of(int row) { return (row >> 1 & 3) * 4 + (row >> 3 & 1) * 2 + (row & 1); }

}  // namespace vd::device
