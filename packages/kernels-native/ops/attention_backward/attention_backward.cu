// Gradients of attention on every architecture, as memory-efficient attention computes them: sums of dy · y first, then dq by
// blocks of queries, dk and dv by blocks of keys. No block adds to another's results, so the order of all sums is fixed.
// Symbols: attention_backward_delta_<dtype>, attention_backward_{dq,dkv}_<dtype>_d<dim> (tensor cores),
// attention_backward_{dq,dkv}_plain_<dtype>_d<dim>.
#include "../../device/kernel.cuh"
#include "attention_backward_mma.cuh"
#include "attention_backward_plain.cuh"

using namespace vd::device;

#define VD_DELTA(type, name) VD_KERNEL(attention_backward_delta_##name, AttentionBackwardParams, 256, 1, attention_delta<type>)
#define VD_GRADIENTS(type, name, dim, keys)                                                                                        \
  VD_KERNEL(attention_backward_dq_##name##_d##dim, AttentionBackwardParams, 128, 1, attention_dq<FlashConfig<type, dim, keys, 4>>) \
  VD_KERNEL(attention_backward_dkv_##name##_d##dim, AttentionBackwardParams, 128, 1, attention_dkv<FlashConfig<type, dim, keys, 4>>)
// Rows of a tile: what leaves sums and scores in registers. On sm_75 a product of depth 16 is two, which takes more of them.
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
#define VD_TILE_128 32
#else
#define VD_TILE_128 16
#endif
#define VD_GRADIENTS_ALL(type, name) \
  VD_GRADIENTS(type, name, 64, 32)   \
  VD_GRADIENTS(type, name, 96, 32)   \
  VD_GRADIENTS(type, name, 128, VD_TILE_128)
#define VD_GRADIENTS_PLAIN(type, name, dim, parts)                                                                         \
  VD_KERNEL(attention_backward_dq_plain_##name##_d##dim, AttentionBackwardParams, 256, 1, attention_dq_plain<type, parts>) \
  VD_KERNEL(attention_backward_dkv_plain_##name##_d##dim, AttentionBackwardParams, 256, 1, attention_dkv_plain<type, parts>)

VD_DELTA(float, f32)
VD_DELTA(__half, f16)
VD_DELTA(__nv_bfloat16, bf16)
VD_GRADIENTS_ALL(__half, f16)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
VD_GRADIENTS_ALL(__nv_bfloat16, bf16)
#endif
VD_GRADIENTS_PLAIN(float, f32, 64, 2)
VD_GRADIENTS_PLAIN(float, f32, 512, 16)
VD_GRADIENTS_PLAIN(__half, f16, 512, 16)
VD_GRADIENTS_PLAIN(__nv_bfloat16, bf16, 512, 16)
