// layer_norm without weight or bias, or with scale and shift behind it (adaptive norms), and of rows longer than layer_norm.cu
// keeps in registers.
// Symbols: layer_norm_modulated_<dtype>_l<lanes>c<chunks>, layer_norm_modulated_<dtype>_block.
#include "../../device/token_norm.cuh"

using namespace vd::device;

VD_TOKEN_NORM(layer_norm_modulated, true, false)
