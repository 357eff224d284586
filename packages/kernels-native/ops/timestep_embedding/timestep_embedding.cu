// timestep_embedding: [cos, sin] of t times geometric frequencies. Angles are rounded to float32 where the source rounds
// them; exp, cos and sin in float64, as the rows are few. Symbols: timestep_embedding_scalar.
#include "../../device/elementwise.cuh"
#include "timestep_embedding_params.h"

using namespace vd::device;

namespace {

__device__ __forceinline__ void timestep_embedding(const TimestepEmbeddingParams& p) {
  for_each_item(p.count * p.half, [&](int64_t i) {
    const int64_t row = i / p.half;
    const int64_t j = i - row * p.half;
    const float t = p.t[row / p.inner * p.tPitch + row % p.inner];
    const float exponent = __fdiv_rn(__fmul_rn(p.rate, static_cast<float>(j)), p.divisor);
    const float angle = __fmul_rn(t, static_cast<float>(exp(static_cast<double>(exponent))));
    store_any(p.y, p.yType, row * p.yPitch + j, static_cast<float>(cos(static_cast<double>(angle))));
    store_any(p.y, p.yType, row * p.yPitch + p.half + j, static_cast<float>(sin(static_cast<double>(angle))));
  });
}

}  // namespace

VD_KERNEL(timestep_embedding_scalar, TimestepEmbeddingParams, 256, 2, timestep_embedding)
