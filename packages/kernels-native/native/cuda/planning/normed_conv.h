// Launches of convolutions that normalise their source first, where a norm puts it into the workspace.
#pragma once
#include "../../core/normed_conv.h"
#include "../../generated/op_planners.h"
#include "matmul_sm90.h"
#include "through_workspace.h"

namespace vd::cuda {

/** How the source of a call is normalised by its statistics. base: gets what must be packed, by the kernel `packSymbol`. */
template <class Args> NormedSource normed_source(const Args& a, Variant& base, const char* packSymbol) {
  device::MatmulSourceNorm norm{};
  norm.stats = a.stats.template as<float>();
  norm.statsPitch = a.stats.pitch;
  norm.groups = static_cast<int32_t>(a.stats.dims[2]);
  norm.groupChannels = static_cast<int32_t>(a.x.channels()) / norm.groups;
  norm.framesPerRow = a.stats.dims[1] == 1 ? static_cast<int32_t>(a.x.dims[1]) : 1;
  norm.silu = a.normAct == Activation::silu;
  return {norm, float_bias(base, a.normWeight, packSymbol).address, float_bias(base, a.normBias, packSymbol).address};
}

/** Why kernels that normalise on the way do not apply an activation. */
inline Reason norm_activation_reason(Activation act) {
  return if_so(act != Activation::none && act != Activation::silu, {"has no activation of the norm but silu"});
}

/** The launches of a norm whose result stands for the workspace's beginning, with their working memory behind it. */
Variant norm_into_workspace(const GroupNormArgs& norm, const DeviceInfo& device);

/** The same of a norm whose result is codes. */
Variant norm_into_workspace(const GroupNormQ8Args& norm, const DeviceInfo& device);

/** Adds the kernels of conv behind those of group_norm. prefix: of the variants' names. */
template <class Args>
void add_norm_and_conv(const Args& a, const char* prefix, const DeviceInfo& device, const PlanningOptions& options, Candidates& out) {
  const Tensor x = normed_map(a, place_in_workspace(2), a.x.dtype);
  const Variant norm = norm_into_workspace(as_group_norm(a, x), device);
  add_behind(norm, x, conv_cuda_variants(as_conv(a, x), device, options).variants, prefix, out);
}

}  // namespace vd::cuda
