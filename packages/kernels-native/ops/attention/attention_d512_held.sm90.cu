// attention on Hopper, head dim 512, of all keys with queries in registers: attention_d512_held.sm90.cuh.
// Symbols: attention_sm90_<dtype>_d512.
#include "attention_d512_held.sm90.cuh"

using namespace vd::device;

VD_KERNEL(attention_sm90_f16_d512, AttentionSm90Params, d512_held::kThreads, 1, d512_held::attention_held<__half>)
VD_KERNEL(attention_sm90_bf16_d512, AttentionSm90Params, d512_held::kThreads, 1, d512_held::attention_held<__nv_bfloat16>)
