// group_norm_conv to few channels (group_norm_conv_narrow.cuh), from sm_80 on. Symbols: group_norm_conv_narrow_<dtype>_n<columns of
// products>.
#include "group_norm_conv_narrow.cuh"

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
using namespace vd::device;

#define VD_NARROW(type, name, tiles, columns)                                                             \
  VD_KERNEL_OVERLAPPED(group_norm_conv_narrow_##name##_n##columns, NormedFewParams, kNormedFewThreads, 2, \
                       group_norm_conv_narrow<type, tiles>)
#define VD_NARROW_ALL(type, name) \
  VD_NARROW(type, name, 2, 16)    \
  VD_NARROW(type, name, 3, 24)    \
  VD_NARROW(type, name, 4, 32)    \
  VD_NARROW(type, name, 5, 40)

VD_NARROW_ALL(__half, f16)
VD_NARROW_ALL(__nv_bfloat16, bf16)
#endif
