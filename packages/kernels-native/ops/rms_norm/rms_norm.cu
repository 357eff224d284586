// rms_norm: y = x / sqrt(mean(x²) + eps) · weight over the last dimension, then scale and shift (device/token_norm.cuh).
// Symbols: rms_norm_<dtype>_l<lanes>c<chunks>, rms_norm_<dtype>_block.
#include "../../device/token_norm.cuh"

using namespace vd::device;

VD_TOKEN_NORM(rms_norm, false, false)
