// layer_norm_q8: rows are kept in registers as layer_norm does it, their largest magnitude is found there unless their scale
// is given, and codes are written: a byte for each number.
// Symbols: layer_norm_q8_<dtype>[_many]_l<lanes>c<chunks>, layer_norm_q8_<dtype>_block; dtype: of x.
#include "../../device/token_norm.cuh"
#include "../../device/token_norm_many.cuh"

using namespace vd::device;

VD_TOKEN_NORM_MANY(layer_norm_q8)
VD_TOKEN_NORM(layer_norm_q8, true, true)
