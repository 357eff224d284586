// Fast CPU implementations, one function per op. Each returns a row ready to run, or null when it declines: then the
// reference runs. Activations are f32; weights f32, f16 or bf16 at any address. Results do not depend on the number of
// threads. Pointers inside the arguments must stay valid, and constant operands unchanged, as long as the row lives.
#pragma once
#include <memory>

#include "../generated/op_args.h"
#include "cpu_features.h"
#include "pack_cache.h"
#include "prepared.h"

namespace vd::cpu {

/** Convolution; declines weights that are not constant and upsampling with a stride. */
std::unique_ptr<PreparedRow> prepare_conv(const ConvArgs& args, PackCache& cache, Isa isa);
/** Linear layer; declines weights that are not constant. */
std::unique_ptr<PreparedRow> prepare_linear(const LinearArgs& args, PackCache& cache, Isa isa);
/** Attention over space or time. */
std::unique_ptr<PreparedRow> prepare_attention(const AttentionArgs& args, PackCache& cache, Isa isa);
/** Group normalisation with its activation; y may be x. */
std::unique_ptr<PreparedRow> prepare_group_norm(const GroupNormArgs& args, PackCache& cache, Isa isa);
/** The statistics alone, bit for bit those that group_norm finds itself. */
std::unique_ptr<PreparedRow> prepare_group_norm_stats(const GroupNormStatsArgs& args, PackCache& cache, Isa isa);
/** Layer normalisation; y may be x. */
std::unique_ptr<PreparedRow> prepare_layer_norm(const LayerNormArgs& args, PackCache& cache, Isa isa);
/** Element-wise combination; y may be any of the inputs. */
std::unique_ptr<PreparedRow> prepare_pointwise(const PointwiseArgs& args, PackCache& cache, Isa isa);

}  // namespace vd::cpu
