// What all cases of the GPU bench are made of.
#pragma once
#include "gpu_cases.h"

namespace vd::harness {

using Dims = std::vector<int64_t>;
inline constexpr DType kHalf = DType::f16, kBfloat = DType::bf16, kFloat = DType::f32;

/** Allocates a tensor; extra elements of pitch come after the channels. */
inline Tensor make(Gpu& gpu, const Dims& dims, DType type, int64_t extraPitch = 0) {
  Tensor t;
  t.dtype = type;
  t.rank = static_cast<int>(dims.size());
  for (int i = 0; i < t.rank; ++i) t.dims[i] = dims[i];
  t.pitch = dims.back() + extraPitch;
  t.data = gpu.allocate(t.pixels() * t.pitch * bytes_of(type));
  return t;
}
inline uint32_t nextSeed = 1;
inline Tensor random(Gpu& gpu, const Dims& dims, DType type, float scale = 1, float mean = 0, int64_t extraPitch = 0) {
  Tensor t = make(gpu, dims, type, extraPitch);
  t.constant = true;
  gpu.fill(t, t.pixels() * t.pitch, mean, scale, nextSeed++);
  return t;
}

/** Norms and pointwise rows (gpu_cases_norms.cc). */
void add_norms(std::vector<Case>& cases);

}  // namespace vd::harness
