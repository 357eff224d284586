// attention within windows, on every architecture: flash tiles on tensor cores for 16-bit types, float32 products for whatever
// is left. Tiles of keys that no row of a block sees are neither loaded nor multiplied.
// Symbols: attention_local_<dtype>_d<dim>, attention_local_plain_<dtype>_d<dim>.
#include "../../device/kernel.cuh"
#include "attention_mma.cuh"
#include "attention_plain.cuh"

using namespace vd::device;

#define VD_LOCAL(type, name, dim, keys, warps) \
  VD_KERNEL(attention_local_##name##_d##dim, AttentionLocalParams, 32 * warps, 1, attention_mma<FlashConfig<type, dim, keys, warps>>)
#define VD_LOCAL_ALL(type, name)   \
  VD_LOCAL(type, name, 64, 64, 4)  \
  VD_LOCAL(type, name, 96, 64, 4)  \
  VD_LOCAL(type, name, 128, 64, 4) \
  VD_LOCAL(type, name, 160, 32, 4) \
  VD_LOCAL(type, name, 256, 32, 2) \
  VD_LOCAL(type, name, 512, 32, 2)
#define VD_LOCAL_PLAIN(type, name, dim, parts) \
  VD_KERNEL(attention_local_plain_##name##_d##dim, AttentionLocalParams, 256, 1, attention_plain<type, parts>)

VD_LOCAL_ALL(__half, f16)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_LOCAL_ALL(__nv_bfloat16, bf16)
#endif
VD_LOCAL_PLAIN(float, f32, 64, 2)
VD_LOCAL_PLAIN(float, f32, 512, 16)
VD_LOCAL_PLAIN(__half, f16, 512, 16)
VD_LOCAL_PLAIN(__nv_bfloat16, bf16, 512, 16)
