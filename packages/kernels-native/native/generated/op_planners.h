// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
#pragma once
#include "../cuda/planning/candidates.h"
#include "op_args.h"

namespace vd {

// Each returns the variants of a row on a device, the best guess first; none when no kernel can do it.
cuda::Candidates attention_cuda_variants(const AttentionArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates attention_backward_cuda_variants(const AttentionBackwardArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates attention_f8_cuda_variants(const AttentionF8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates attention_f8_codes_cuda_variants(const AttentionF8CodesArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates attention_q8_cuda_variants(const AttentionQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates batch_norm_cuda_variants(const BatchNormArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates conv_cuda_variants(const ConvArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates conv_q8_cuda_variants(const ConvQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates conv_q8_codes_cuda_variants(const ConvQ8CodesArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates conv_winograd_cuda_variants(const ConvWinogradArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates copy_cuda_variants(const CopyArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates denoise_input_cuda_variants(const DenoiseInputArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates depth_to_space_cuda_variants(const DepthToSpaceArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates elementwise_cuda_variants(const ElementwiseArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates frames_out_cuda_variants(const FramesOutArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates group_norm_cuda_variants(const GroupNormArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates group_norm_conv_cuda_variants(const GroupNormConvArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates group_norm_conv_q8_cuda_variants(const GroupNormConvQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates group_norm_q8_cuda_variants(const GroupNormQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates group_norm_stats_cuda_variants(const GroupNormStatsArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates guide_cuda_variants(const GuideArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layer_norm_cuda_variants(const LayerNormArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layer_norm_linear_cuda_variants(const LayerNormLinearArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layer_norm_linear_q8_cuda_variants(const LayerNormLinearQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layer_norm_linear_q8_codes_cuda_variants(const LayerNormLinearQ8CodesArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layer_norm_q8_cuda_variants(const LayerNormQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layout_in_cuda_variants(const LayoutInArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates layout_out_cuda_variants(const LayoutOutArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates linear_cuda_variants(const LinearArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates linear_q8_cuda_variants(const LinearQ8Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates linear_q8_codes_cuda_variants(const LinearQ8CodesArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates pointwise_cuda_variants(const PointwiseArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates pool_cuda_variants(const PoolArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates quantize_cuda_variants(const QuantizeArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates resize_cuda_variants(const ResizeArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates rms_norm_cuda_variants(const RmsNormArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates sampler_step_cuda_variants(const SamplerStepArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates space_to_depth_cuda_variants(const SpaceToDepthArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates timestep_embedding_cuda_variants(const TimestepEmbeddingArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);
cuda::Candidates token_embed_cuda_variants(const TokenEmbedArgs& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);

}  // namespace vd
