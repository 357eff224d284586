// Sizes of a convolution as the matrix cores see them.
#pragma once
#include "../../../device/matmul_mma.h"
#include "matmul_sm90.h"

namespace vd::cuda {

/** Operands of a convolution that decide its sizes. */
struct ConvGeometry {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& y;
  const int64_t* stride;   // frames, height, width
  const int64_t* padding;  // front, back, top, bottom, left, right
  bool upsample;           // nearest-2x before
};

/** Fills in sizes, kernel, steps, padding and phases. */
void set_geometry(MatmulProblem& problem, const ConvGeometry& conv);

/** Fills in everything but operands and epilogue; returns the number of taps. */
int set_geometry(device::MatmulMmaParams& params, const ConvGeometry& conv);

}  // namespace vd::cuda
