// Moments of a convolution's result, for the norm behind it: shared by conv and conv_q8.
#pragma once
#include <memory>

#include "../core/tensor.h"
#include "cpu_features.h"
#include "prepared.h"

namespace vd::cpu {

/** The same row, which also finds the mean and the variance of each channel of each frame of its result y [B,G,P,Q,K], float32, where
 *  `moments` [B,G,K,2] is present; null for null. */
std::unique_ptr<PreparedRow> with_moments(std::unique_ptr<PreparedRow> convolution, const Tensor& y, const Tensor& moments, Isa isa);

}  // namespace vd::cpu
