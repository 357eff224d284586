// Parameters of the reference kernels of the GPU bench.
#pragma once
#include "../generated/op_args.h"

namespace vd {

/** The row under check and where its checked elements go. */
struct ReferenceParams {
  ConvArgs conv;
  LinearArgs linear;
  AttentionArgs attention;
  GroupNormArgs groupNorm;
  GroupNormStatsArgs groupNormStats;
  LayerNormArgs layerNorm;
  PointwiseArgs pointwise;
  Tensor y;
  double* out;
  int64_t samples;
};

struct FillParams {
  void* data;
  int64_t count;
  float mean, scale;
  uint32_t seed;
  int32_t type;
};

}  // namespace vd
