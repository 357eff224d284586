// batch_norm: y = act((x - mean) / sqrt(variance + eps) · weight + bias), eight channels of a pixel a thread, or one when
// unaligned. The grid's threads are a multiple of a pixel's runs of channels, so that a thread keeps its run, and the factors of
// it in registers, from pixel to pixel.
// Symbols: batch_norm_vector, batch_norm_scalar.
#include "../../device/activation.cuh"
#include "../../device/elementwise.cuh"
#include "batch_norm_params.h"

using namespace vd::device;

namespace {

template <int kWidth> __device__ __forceinline__ void batch_norm(const BatchNormParams& p) {
  const int64_t runs = p.channels / kWidth;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x / runs;
  const int c = static_cast<int>(thread % runs) * kWidth;
  float mean[kWidth], factor[kWidth], bias[kWidth];
  load_run(p.mean, p.meanType, c, mean);
  load_run(p.variance, p.varianceType, c, factor);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    factor[j] = 1.0f / sqrtf(factor[j] + p.eps);
    bias[j] = 0.0f;
  }
  if (p.weight) {
    float weight[kWidth];
    load_run(p.weight, p.weightType, c, weight);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) factor[j] *= weight[j];
  }
  if (p.bias) load_run(p.bias, p.biasType, c, bias);
  for (int64_t pixel = thread / runs; pixel < p.pixels; pixel += step) {
    float v[kWidth];
    load_run(p.x, p.xType, pixel * p.xPitch + c, v);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) v[j] = fmaf(v[j] - mean[j], factor[j], bias[j]);
    activate(v, p.act);
    store_run(p.y, p.yType, pixel * p.yPitch + c, v);
  }
}

}  // namespace

VD_KERNEL(batch_norm_vector, BatchNormParams, 256, 4, batch_norm<8>)
VD_KERNEL(batch_norm_scalar, BatchNormParams, 256, 4, batch_norm<1>)
