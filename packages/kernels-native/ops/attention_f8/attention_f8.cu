// attention_f8 over frames on every architecture: float8 codes become float16, in which they are exact, on their way into a warp's
// registers (device/attention_time.cuh). Over space, and for what this does not do, kernels are those of attention_q8. Symbols:
// attention_f8_time_<dtype>_f<frames>; dtype: of the result, numbers or codes. Measured: docs/kernels/attention.md.
#include "../../device/attention_f8.h"
#include "../../device/attention_time.cuh"

using namespace vd::device;

namespace {

template <class Result, int kFrames> __device__ __forceinline__ void attention_over_frames(const AttentionF8Params& p) {
  const TimeScales scales{__ldg(p.qScale) * __ldg(p.kScale), __ldg(p.vScale) / (p.yScale != nullptr ? __ldg(p.yScale) : 1.0f)};
  attention_time<__half, kFrames, __nv_fp8_e4m3, Result>(p.rows, scales);
}

}  // namespace

#define VD_TIME(type, name)                                                                                        \
  VD_KERNEL_OVERLAPPED(attention_f8_time_##name##_f16, AttentionF8Params, 128, 6, attention_over_frames<type, 16>) \
  VD_KERNEL_OVERLAPPED(attention_f8_time_##name##_f32, AttentionF8Params, 128, 5, attention_over_frames<type, 32>)

VD_TIME(__half, f16)
VD_TIME(__nv_fp8_e4m3, f8e4m3)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_TIME(__nv_bfloat16, bf16)
#endif
