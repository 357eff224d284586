// attention on every architecture: o = softmax(scale · q · kᵀ + mask) · v per head.
//
// attention_mma.cuh: flash tiles on tensor cores, 16-bit types, any request but windows (attention_local.cu).
// device/attention_time.cuh: short sequences over frames in one warp's registers, 16-bit types, head dim 64.
// attention_few.cuh: a few frames in one thread's registers, 16-bit types, any head.
// attention_plain.cuh: float32 products; whatever is left. (Hopper: attention*.sm90.cu; float32: attention_tf32.cu.)
// Measured: docs/kernels/attention.md.
// Symbols: attention_mma_<dtype>_d<dim>, attention_time_<dtype>_f<frames>, attention_few_<dtype>, attention_plain_<dtype>_d<dim>.
#include "../../device/attention_time.cuh"
#include "../../device/kernel.cuh"
#include "attention_few.cuh"
#include "attention_mma.cuh"
#include "attention_plain.cuh"

using namespace vd::device;

#define VD_FLASH(type, name, dim, keys, warps) \
  VD_KERNEL(attention_mma_##name##_d##dim, AttentionMmaParams, 32 * warps, 1, attention_mma<FlashConfig<type, dim, keys, warps>>)
#define VD_FLASH_ALL(type, name)                                                                          \
  VD_KERNEL_OVERLAPPED(attention_few_##name, AttentionMmaParams, 128, 4, attention_few<type>)             \
  VD_FLASH(type, name, 32, 64, 4)                                                                         \
  VD_FLASH(type, name, 64, 64, 4)                                                                         \
  VD_FLASH(type, name, 80, 64, 4)                                                                         \
  VD_FLASH(type, name, 96, 64, 4)                                                                         \
  VD_FLASH(type, name, 128, 64, 4)                                                                        \
  VD_FLASH(type, name, 160, 32, 4)                                                                        \
  VD_FLASH(type, name, 256, 32, 2)                                                                        \
  VD_FLASH(type, name, 512, 32, 2)                                                                        \
  VD_KERNEL_OVERLAPPED(attention_time_##name##_f16, AttentionMmaParams, 128, 4, attention_time<type, 16>) \
  VD_KERNEL_OVERLAPPED(attention_time_##name##_f32, AttentionMmaParams, 128, 3, attention_time<type, 32>)
#define VD_PLAIN(type, name, dim, parts) \
  VD_KERNEL(attention_plain_##name##_d##dim, AttentionMmaParams, 256, 1, attention_plain<type, parts>)

VD_FLASH_ALL(__half, f16)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_FLASH_ALL(__nv_bfloat16, bf16)
#endif
VD_PLAIN(float, f32, 64, 2)
VD_PLAIN(float, f32, 512, 16)
VD_PLAIN(__half, f16, 512, 16)
VD_PLAIN(__nv_bfloat16, bf16, 512, 16)
