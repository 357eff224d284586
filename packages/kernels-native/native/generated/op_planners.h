// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
#pragma once
#include <vector>

#include "../core/cuda_launch.h"
#include "op_args.h"

namespace vd {

// Each returns the ways to compute a row on CUDA, best guess first; nothing where no kernel takes it.
std::vector<cuda::Plan> plan_attention_cuda(const AttentionArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_conv_cuda(const ConvArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_copy_cuda(const CopyArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_denoise_input_cuda(const DenoiseInputArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_depth_to_space_cuda(const DepthToSpaceArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_frames_out_cuda(const FramesOutArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_group_norm_cuda(const GroupNormArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_group_norm_stats_cuda(const GroupNormStatsArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_guide_cuda(const GuideArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_layer_norm_cuda(const LayerNormArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_layout_in_cuda(const LayoutInArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_layout_out_cuda(const LayoutOutArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_linear_cuda(const LinearArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_pointwise_cuda(const PointwiseArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_resize_cuda(const ResizeArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_sampler_step_cuda(const SamplerStepArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_space_to_depth_cuda(const SpaceToDepthArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_timestep_embedding_cuda(const TimestepEmbeddingArgs& args, const cuda::DeviceInfo& device);
std::vector<cuda::Plan> plan_token_embed_cuda(const TokenEmbedArgs& args, const cuda::DeviceInfo& device);

}  // namespace vd
