// attention on Hopper, head dim 512, of the keys that a row sees: attention_d512.sm90.cuh.
// Symbols: attention_sm90_masked_<dtype>_d512.
#include "attention_d512.sm90.cuh"

using namespace vd::device;

VD_KERNEL(attention_sm90_masked_f16_d512, AttentionRangeParams, d512::kThreads, 1, d512::attention_seen<__half>)
VD_KERNEL(attention_sm90_masked_bf16_d512, AttentionRangeParams, d512::kThreads, 1, d512::attention_seen<__nv_bfloat16>)
