// group_norm_q8: the launches of group_norm, the last of which rounds to 8-bit codes with a known scale: a byte is written for
// each number instead of two, and none is read again to be rounded.
// Symbols: group_norm_q8_held_<dtype>, group_norm_q8_partial_<dtype>[_scalar], group_norm_q8_finish, group_norm_q8_apply_<dtype>[_scalar];
// dtype: of x.
#include "../../device/group_norm_apply.cuh"
#include "../../device/group_norm_held.cuh"

using namespace vd::device;

VD_NORM_STATISTICS(group_norm_q8)
VD_NORM_APPLY(group_norm_q8, true)
VD_NORM_HELD(group_norm_q8, true)
