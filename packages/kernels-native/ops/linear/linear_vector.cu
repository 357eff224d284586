// linear of few tokens, as of time embeddings: bound by the latency of one read of the weights. A warp makes a column of the result for
// all tokens, so that a row of the weights is read once, in vectors of eight; matrix tiles would hold few rows and keep few warps busy.
// Symbols: linear_vector_<dtype>.
#include "../../device/epilogue.cuh"
#include "../../device/kernel.cuh"
#include "../../device/matmul_mma.h"
#include "../../device/reduce.cuh"
#include "../../device/vec.cuh"

using namespace vd::device;

namespace {

template <class T> __device__ __forceinline__ void linear_vector(const MatmulMmaParams& p) {
  const int lane = threadIdx.x & 31, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (column >= p.columns) return;
  const T* weights = static_cast<const T*>(p.weights) + static_cast<int64_t>(column) * p.depth;
  const T* x = static_cast<const T*>(p.x);
  float sums[kVectorRows] = {};
  for (int k = lane * 8; k < p.depth; k += 256) {
    float w[8];
    load8_readonly(weights + k, w);
#pragma unroll
    for (int row = 0; row < kVectorRows; ++row) {
      if (row >= p.rows) break;
      float v[8];
      load8(x + row * p.pitch + k, v);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[row] = fmaf(v[i], w[i], sums[row]);
    }
  }
  float mine = 0.0f;
#pragma unroll
  for (int row = 0; row < kVectorRows; ++row) {
    if (row >= p.rows) break;
    const float sum = sum_lanes<32>(sums[row]);
    if (lane == row) mine = sum;
  }
  if (lane < p.rows) finish1(p.epilogue, mine, lane, column, false);
}

}  // namespace

VD_KERNEL_OVERLAPPED(linear_vector_f32, MatmulMmaParams, 128, 4, linear_vector<float>)
VD_KERNEL_OVERLAPPED(linear_vector_f16, MatmulMmaParams, 128, 4, linear_vector<__half>)
VD_KERNEL_OVERLAPPED(linear_vector_bf16, MatmulMmaParams, 128, 4, linear_vector<__nv_bfloat16>)
